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

/// Keeps the highest footprint it sees, every 5 ms, from a thread of its own.
final class Sampler {
  private let lock = NSLock()
  private var highest: UInt64 = 0
  private var running = true

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

  /// The highest footprint since the last call, in bytes.
  func take() -> UInt64 {
    look()
    return lock.withLock { defer { highest = 0 }; return highest }
  }

  func stop() { lock.withLock { running = false } }

  private func keepsRunning() -> Bool { lock.withLock { running } }

  private func look() {
    guard let now = footprint()?.now else { return }
    lock.withLock { highest = max(highest, now) }
  }
}

/// Measures one method; `about` are the columns that say what it is, such as model and precision.
func measure(
  about: [String: Any], marks: [Int] = [1, 5, 20],
  load: () throws -> Void, execute: () throws -> Void
) rethrows -> [[String: Any]] {
  let sampler = Sampler()
  defer { sampler.stop() }
  let baseline = footprint()?.now ?? 0
  try load()
  let loaded = footprint()?.now ?? 0
  var peak = sampler.take(), firstPeak: UInt64 = 0
  var seconds: [Double] = [], rows: [[String: Any]] = []
  for number in 1...(marks.max() ?? 1) {
    let began = DispatchTime.now().uptimeNanoseconds
    try execute()
    seconds.append(Double(DispatchTime.now().uptimeNanoseconds - began) / 1e9)
    let highest = sampler.take()
    if number == 1 { firstPeak = highest }
    peak = max(peak, highest)
    guard marks.contains(number) else { continue }
    // The kernel's own mark misses nothing. It is of the whole process: hence a fresh one.
    let kernel = footprint()?.peak ?? 0
    rows.append(
      about.merging(
        [
          "kind": "footprint_total", "iterations": number, "status": "ok",
          "baseline_bytes": baseline, "load_bytes": loaded, "first_peak_bytes": firstPeak,
          "peak_bytes": max(peak, kernel), "steady_bytes": footprint()?.now ?? 0,
          "exec_median_s": seconds.sorted()[seconds.count / 2],
        ], uniquingKeysWith: { own, _ in own }))
  }
  return rows
}

/// Writes the rows where Xcode's device window and the Files app find them.
func write(_ rows: [[String: Any]], to name: String = "measurements.json") throws {
  let documents = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
  let json = try JSONSerialization.data(withJSONObject: rows, options: [.prettyPrinted, .sortedKeys])
  try json.write(to: documents.appendingPathComponent(name))
}
