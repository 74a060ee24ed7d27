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

  /** The kernel's own mark, of the whole process, at the last call of [take]. */
  var mark = 0L
    private set

  private val sampler = thread(name = "memory-sampler") {
    Process.setThreadPriority(Process.THREAD_PRIORITY_URGENT_DISPLAY)
    while (running) {
      look()
      Thread.sleep(5)
    }
  }

  /**
   * The highest RSS since the last call, in bytes: the kernel's mark where it has risen since, which
   * misses nothing. Where it has not, it is of something before, and what was seen counts.
   */
  @Synchronized fun take(): Long {
    look()
    val seen = highest
    val before = mark
    highest = 0
    mark = max(before, rssPeak())
    return if (mark > before) max(mark, seen) else seen
  }

  @Synchronized private fun look() { highest = max(highest, rss()) }

  override fun close() { running = false; sampler.join() }
}

/**
 * Measures one method; [about] are the columns that say what it is, such as model and precision.
 * [save] is given all rows so far before the load, before each mark and at the end: what it has
 * written is all that a killed app leaves. A mark that is not reached yet is in it as "failed".
 */
fun measure(
  about: Map<String, Any>, marks: List<Int> = listOf(1, 5, 20), save: (JSONArray) -> Unit,
  load: () -> Unit, execute: () -> Unit,
): JSONArray = Sampler().use { sampler ->
  val unreached = mapOf("status" to "failed", "reason" to "the app ended before this mark")
  val rows = mutableListOf<Map<String, Any>>()
  val row = about.toMutableMap()
  row["kind"] = "rss_total"
  row["iterations"] = marks.min()
  save(JSONArray(listOf(row + unreached))) // the baseline has what saving takes
  sampler.take() // what was before the baseline is not above it
  val before = sampler.mark
  val baseline = rss()
  var peak = baseline
  row["baseline_bytes"] = baseline

  /** Enters the peak so far; returns the highest RSS since the last call. */
  fun look(): Long {
    val highest = sampler.take()
    peak = max(peak, highest)
    row["peak_bytes"] = peak
    row["measured_by"] = if (sampler.mark > before) "5 ms and kernel" else "5 ms"
    return highest
  }

  load()
  row["load_bytes"] = rss()
  look()
  val seconds = mutableListOf<Double>()
  for (mark in marks.sorted()) {
    row["iterations"] = mark
    save(JSONArray(rows + listOf(row + unreached)))
    while (seconds.size < mark) {
      val began = System.nanoTime()
      execute()
      seconds += (System.nanoTime() - began) / 1e9
      val highest = look()
      if (seconds.size == 1) row["first_peak_bytes"] = highest
    }
    val reached = row.toMutableMap()
    reached["status"] = "ok"
    reached["steady_bytes"] = rss()
    reached["exec_median_s"] = seconds.sorted()[seconds.size / 2]
    rows += reached
  }
  JSONArray(rows).also(save)
}

/** The same process by PSS after the last execution: no peak, and not to be compared with RSS. */
fun pssRow(about: Map<String, Any>, iterations: Int): JSONObject =
  JSONObject(about).put("kind", "pss_total").put("measured_by", "at the end").put("status", "ok")
    .put("iterations", iterations).put("steady_bytes", pss())

/** Writes the rows, whole or not at all. */
fun write(rows: JSONArray, file: File) {
  val part = File("${file.path}.part")
  part.writeText(rows.toString(2))
  check(part.renameTo(file)) { "${file.path} can't be written" }
}
