// Measures one method of an ExecuTorch program in an Android app, in a fresh process: one row per
// number of executions, as `nox -s ingest` takes it. See docs/devices.md.
import android.os.Debug
import android.os.Process
import java.io.File
import kotlin.concurrent.thread
import kotlin.math.max
import org.json.JSONArray
import org.json.JSONObject

private const val KIB = 1024L

/** A field of /proc/self/status or smaps_rollup in bytes, such as VmRSS or Pss; 0 if it has none. */
fun procBytes(file: String, field: String): Long =
  File("/proc/self/$file").useLines { lines ->
    lines.firstOrNull { it.startsWith("$field:") }?.filter(Char::isDigit)?.toLong()?.times(KIB)
  } ?: 0L

/** RSS in bytes, now. */
fun rss(): Long = procBytes("status", "VmRSS")

/** The kernel's high-water mark of the RSS, of the whole process so far: it misses nothing. */
fun rssPeak(): Long = procBytes("status", "VmHWM")

/** PSS in bytes: pages shared with other processes by share. Milliseconds: at phase ends only. */
fun pss(): Long =
  Debug.MemoryInfo().also(Debug::getMemoryInfo).totalPss * KIB

/** Keeps the highest RSS it sees, every 5 ms, from a thread of its own. */
class Sampler : AutoCloseable {
  @Volatile private var running = true
  private var highest = 0L

  private val sampler = thread(name = "memory-sampler") {
    Process.setThreadPriority(Process.THREAD_PRIORITY_URGENT_DISPLAY)
    while (running) {
      look()
      Thread.sleep(5)
    }
  }

  /** The highest RSS since the last call, in bytes. */
  @Synchronized fun take(): Long { look(); return highest.also { highest = 0 } }

  @Synchronized private fun look() { highest = max(highest, rss()) }

  override fun close() { running = false; sampler.join() }
}

/** Measures one method; [about] are the columns that say what it is, such as model and precision. */
fun measure(
  about: Map<String, Any>, marks: List<Int> = listOf(1, 5, 20), load: () -> Unit, execute: () -> Unit,
): JSONArray = Sampler().use { sampler ->
  val baseline = rss()
  load()
  val loaded = rss()
  var peak = sampler.take()
  var firstPeak = 0L
  val seconds = mutableListOf<Double>()
  val rows = JSONArray()
  for (number in 1..marks.max()) {
    val began = System.nanoTime()
    execute()
    seconds += (System.nanoTime() - began) / 1e9
    val highest = sampler.take()
    if (number == 1) firstPeak = highest
    peak = max(peak, highest)
    if (number !in marks) continue
    val row = JSONObject(about)
      .put("kind", "rss_total").put("iterations", number).put("status", "ok")
      .put("baseline_bytes", baseline).put("load_bytes", loaded)
      .put("first_peak_bytes", firstPeak).put("peak_bytes", max(peak, rssPeak()))
      .put("steady_bytes", rss()).put("exec_median_s", seconds.sorted()[seconds.size / 2])
    rows.put(row)
  }
  rows
}

/** The same process by PSS, once at the end: for beside the RSS, not to be compared with it. */
fun pssRow(about: Map<String, Any>): JSONObject =
  JSONObject(about).put("kind", "pss_total").put("status", "ok").put("peak_bytes", pss())
