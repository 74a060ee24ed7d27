// The runner as a process: its memory from the kernel, and the events it reports.
// The same words as bench/worker/et_worker/{memory,phases,events}.py: one reader takes both.
#pragma once

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace et_peak {

// A field of /proc/self/status such as "Threads:" (proc(5)); 0 where there is none.
inline int64_t status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, field.size(), field) == 0) {
      return std::strtoll(line.c_str() + field.size(), nullptr, 10);
    }
  }
  return 0;
}

inline int64_t threads() { return status("Threads:"); }

// A size such as "VmHWM:"; the file says kB and means KiB.
inline int64_t status_bytes(const std::string& field) { return status(field) * 1024; }

inline int64_t rss_bytes() { return status_bytes("VmRSS:"); }

// Highest RSS since the last reset. VmRSS is counted per CPU and may run ahead by some pages.
inline int64_t peak_bytes() { return std::max(status_bytes("VmHWM:"), rss_bytes()); }

inline void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Native libraries of the executorch package that are mapped, relative to it.
inline std::set<std::string> mapped_libraries() {
  const std::string part = "/executorch/";
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find(part);
    if (at != std::string::npos && line.find(".so") != std::string::npos) {
      found.insert(line.substr(at + part.size()));
    }
  }
  return found;
}

inline std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\', quoted += static_cast<char>(c);
    } else if (c < 0x20) {
      quoted += ' ';
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + "\"";
}

// The fields of one event, in the order they are put.
class Fields {
 public:
  Fields& put(const char* name, int64_t value) { return raw(name, std::to_string(value)); }
  Fields& put(const char* name, double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9f", value);
    return raw(name, text);
  }
  Fields& put(const char* name, const std::string& value) { return raw(name, quote(value)); }
  Fields& raw(const char* name, const std::string& json) {
    text_ += ", " + quote(name) + ": " + json;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Appends one JSON object a line, each with one write: a killed runner leaves all it reported.
class Events {
 public:
  explicit Events(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644)), began_(started()) {
    if (file_ < 0) {
      throw std::runtime_error("cannot open " + path);
    }
  }

  void emit(const char* event, const Fields& fields = Fields()) {
    char t[40];
    std::snprintf(t, sizeof t, "%.4f", seconds());
    const std::string line = "{\"event\": " + quote(event) + ", \"t\": " + t + fields.text() + "}\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("cannot write an event");
    }
  }

  // Since this process started, its launcher's part included.
  double seconds() const { return now() - began_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // Field 22 of /proc/self/stat: ticks after boot (proc(5)).
  static double started() {
    std::ifstream file("/proc/self/stat");
    std::string stat;
    std::getline(file, stat);
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string field;
    for (int number = 3; number <= 22; ++number) {
      fields >> field;
    }
    return std::strtod(field.c_str(), nullptr) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  int file_;
  double began_;
};

// Phases, each with its seconds, RSS and high-water mark, and the peak of all since the baseline.
class Phases {
 public:
  explicit Phases(Events& events) : events_(events) {}

  template <typename Work>
  void run(const char* name, Work work) {
    events_.emit("enter", Fields().put("phase", std::string(name)));
    current_ = name;
    reset_peak();
    const auto began = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const int64_t rss = rss_bytes(), peak = std::max(et_peak::peak_bytes(), rss);
    highest_ = std::max(highest_, peak);
    events_.emit("phase", Fields()
                              .put("name", std::string(name))
                              .put("seconds", took.count())
                              .put("rss_bytes", rss)
                              .put("peak_bytes", peak));
  }

  void baseline(int64_t threads) {
    reset_peak();
    baseline_ = highest_ = rss_bytes();
    events_.emit("baseline", Fields()
                                 .put("rss_bytes", baseline_)
                                 .put("peak_bytes", et_peak::peak_bytes())
                                 .put("threads", threads));
  }

  int64_t baseline_bytes() const { return baseline_; }
  int64_t peak_bytes() const { return highest_; }
  int64_t peak_bytes_now() const { return std::max(highest_, et_peak::peak_bytes()); }
  const std::string& current() const { return current_; }

 private:
  Events& events_;
  std::string current_ = "start";
  int64_t baseline_ = 0;
  int64_t highest_ = 0;
};

} // namespace et_peak
