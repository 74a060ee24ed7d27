// Measures one method of an ExecuTorch program in an iOS or macOS app, in a fresh process: one row
// per number of executions, as `nox -s ingest` takes it. See docs/devices.md.
import Foundation

/// The physical footprint in bytes, now and at its highest since the process began: what jetsam
/// goes by. Nil where the kernel refuses.
func footprint() -> (now: UInt64, peak: UInt64)? {
  var info = task_vm_info_data_t()
  var count = mach_msg_type_number_t(
    MemoryLayout<task_vm_info_data_t>.size / MemoryLayout<natural_t>.size)
  let result = withUnsafeMutablePointer(to: &info) { pointer in
    pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
      task_info(mach_task_self_, task_flavor_t(TASK_VM_INFO), $0, &count)
    }
  }
  guard result == KERN_SUCCESS else { return nil }
  return (info.phys_footprint, UInt64(max(info.ledger_phys_footprint_peak, 0)))
}

/// The physical footprint in bytes, now; 0 where the kernel refuses.
func footprintNow() -> UInt64 { footprint()?.now ?? 0 }

/// Keeps the highest footprint it sees, every 5 ms, from a thread of its own.
final class Sampler {
  private let lock = NSLock()
  private var highest: UInt64 = 0
  private var running = true
  /// The kernel's own mark, of the whole process, at the last call of `take`.
  private(set) var mark: UInt64 = 0

  init() {
    let thread = Thread { [weak self] in
      while let self, self.keepsRunning() {
        self.look()
        usleep(5_000)
      }
    }
    thread.qualityOfService = .userInteractive  // or it starves behind the delegate's threads
    thread.start()
  }

  /// The highest footprint since the last call, in bytes: the kernel's mark where it has risen since,
  /// which misses nothing. Where it has not, it is of something before, and what was seen counts.
  func take() -> UInt64 {
    look()
    let seen: UInt64 = lock.withLock { defer { highest = 0 }; return highest }
    let before = mark
    mark = max(before, footprint()?.peak ?? 0)
    return mark > before ? max(mark, seen) : seen
  }

  func stop() { lock.withLock { running = false } }

  private func keepsRunning() -> Bool { lock.withLock { running } }

  private func look() {
    let now = footprintNow()
    lock.withLock { highest = max(highest, now) }
  }
}

/// Measures one method; `about` are the columns that say what it is, such as model and precision.
/// `save` is given all rows so far before the load, before each mark and at the end: what it has
/// written is all that a killed app leaves. A mark that is not reached yet is in it as "failed".
func measure(
  about: [String: Any], marks: [Int] = [1, 5, 20],
  save: ([[String: Any]]) throws -> Void, load: () throws -> Void, execute: () throws -> Void
) rethrows {
  let unreached: [String: Any] = ["status": "failed", "reason": "the app ended before this mark"]
  var rows: [[String: Any]] = []
  var row = about
  row["kind"] = "footprint_total"
  row["iterations"] = marks.min()
  try save([row.merging(unreached) { _, new in new }])  // the baseline has what saving takes
  let sampler = Sampler()
  defer { sampler.stop() }
  _ = sampler.take()  // what was before the baseline is not above it
  let before = sampler.mark
  let baseline = footprintNow()
  var peak = baseline
  row["baseline_bytes"] = baseline

  /// Enters the peak so far; returns the highest footprint since the last call.
  func look() -> UInt64 {
    let highest = sampler.take()
    peak = max(peak, highest)
    row["peak_bytes"] = peak
    row["measured_by"] = sampler.mark > before ? "5 ms and kernel" : "5 ms"
    return highest
  }

  try load()
  row["load_bytes"] = footprintNow()
  _ = look()
  var seconds: [Double] = []
  for mark in marks.sorted() {
    row["iterations"] = mark
    try save(rows + [row.merging(unreached) { _, new in new }])
    while seconds.count < mark {
      let began = DispatchTime.now().uptimeNanoseconds
      try execute()
      seconds.append(Double(DispatchTime.now().uptimeNanoseconds - began) / 1e9)
      let highest = look()
      if seconds.count == 1 { row["first_peak_bytes"] = highest }
    }
    var reached = row
    reached["status"] = "ok"
    reached["steady_bytes"] = footprintNow()
    reached["exec_median_s"] = seconds.sorted()[seconds.count / 2]
    rows.append(reached)
  }
  try save(rows)
}

/// Writes the rows where Xcode's device window and the Files app find them, whole or not at all.
func write(_ rows: [[String: Any]], to name: String = "measurements.json") throws {
  let documents = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
  let json = try JSONSerialization.data(withJSONObject: rows, options: [.prettyPrinted, .sortedKeys])
  try json.write(to: documents.appendingPathComponent(name), options: .atomic)
}
