// The bare runner: loads one method of a program and executes it, with nothing else in the process.
//
//   runner PROGRAM METHOD EVENTS LOAD_MODE MARKS CHECK [INPUT ...]
//
// EVENTS: file that JSON lines are appended to. LOAD_MODE: mmap, mlock or buffer. MARKS: such as
// 1,5,20, executions to report after. CHECK: finite, or any where outputs may be what they will.
// INPUT: dtype:sizes:fill:number:key, such as float32:1x1500x384:spread:2.449:77; sizes are - for
// a scalar; fill is spread or integers (values as in et_worker/values.py, of the factor or below
// the number), range or zeros.
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "process.h"
#include "sha256.h"

namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

// An end with a reason for a person; kind as in et_worker/failures.py.
struct Failure : std::runtime_error {
  Failure(std::string kind, const std::string& reason)
      : std::runtime_error(reason), kind(std::move(kind)) {}
  std::string kind;
};

[[noreturn]] void fail(const std::string& reason) { throw Failure("exception", reason); }

void check(Error error, const std::string& what) {
  if (error != Error::Ok) {
    char code[16];
    std::snprintf(code, sizeof code, "0x%x", static_cast<unsigned>(error));
    fail(what + " failed with ExecuTorch's error " + code);
  }
}

const std::map<std::string, ScalarType> kTypes = {
    {"float32", ScalarType::Float}, {"float64", ScalarType::Double}, {"float16", ScalarType::Half},
    {"bfloat16", ScalarType::BFloat16}, {"int64", ScalarType::Long}, {"int32", ScalarType::Int},
    {"uint64", ScalarType::UInt64}, {"uint32", ScalarType::UInt32},
    {"uint16", ScalarType::UInt16}, {"int16", ScalarType::Short}, {"int8", ScalarType::Char}, {"uint8", ScalarType::Byte},
    {"bool", ScalarType::Bool}};

std::string type_name(ScalarType type) {
  for (const auto& [name, value] : kTypes) {
    if (value == type) {
      return name;
    }
  }
  return "dtype" + std::to_string(static_cast<int>(type));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

// splitmix64, as in et_worker/values.py.
uint64_t random_bits(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <typename T>
TensorPtr filled(const std::vector<SizesType>& sizes, size_t count, const std::string& fill,
                 double number, uint64_t key) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    if (fill == "spread") {
      const uint64_t bits = random_bits(key, i);
      const double sum = static_cast<double>(bits >> 32) + static_cast<double>(bits & 0xffffffffu);
      values[i] = static_cast<T>(static_cast<float>((sum * 0x1p-32 - 1.0) * number));
    } else {
      const uint64_t whole =
          fill == "range" ? i : random_bits(key, i) % static_cast<uint64_t>(number);
      if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(whole);
      } else {
        values[i] = static_cast<T>(static_cast<float>(whole));
      }
    }
  }
  return executorch::extension::make_tensor_ptr(sizes, std::move(values));
}

TensorPtr make_input(const std::string& spec) {
  const auto parts = split(spec, ':');
  if (parts.size() != 5 || !kTypes.count(parts[0])) {
    fail("cannot read the input " + spec);
  }
  std::vector<SizesType> sizes;
  size_t count = 1;
  if (parts[1] != "-") {
    for (const auto& size : split(parts[1], 'x')) {
      sizes.push_back(static_cast<SizesType>(std::strtol(size.c_str(), nullptr, 10)));
      count *= static_cast<size_t>(sizes.back());
    }
  }
  const std::string& fill = parts[2];
  const double number = std::strtod(parts[3].c_str(), nullptr);
  const uint64_t key = std::strtoull(parts[4].c_str(), nullptr, 10);
  const ScalarType type = kTypes.at(parts[0]);
  if (fill == "zeros") {
    return executorch::extension::zeros(sizes, type);
  }
  if (fill != "spread" && fill != "integers" && fill != "range") {
    fail("unknown fill of the input " + spec);
  }
  if (fill == "integers" && number < 1) {
    fail("no integers to draw for the input " + spec);
  }
  switch (type) {
    case ScalarType::Float:
      return filled<float>(sizes, count, fill, number, key);
    case ScalarType::Double:
      return filled<double>(sizes, count, fill, number, key);
    case ScalarType::Half:
      return filled<executorch::aten::Half>(sizes, count, fill, number, key);
    case ScalarType::BFloat16:
      return filled<executorch::aten::BFloat16>(sizes, count, fill, number, key);
    case ScalarType::Long:
      return filled<int64_t>(sizes, count, fill, number, key);
    case ScalarType::Int:
      return filled<int32_t>(sizes, count, fill, number, key);
    default:
      throw Failure("unsupported", "runner=native cannot make the input " + spec);
  }
}

template <typename T>
bool all_finite(const executorch::aten::Tensor& tensor) {
  const T* values = tensor.const_data_ptr<T>();
  return std::all_of(values, values + tensor.numel(),
                     [](T value) { return std::isfinite(static_cast<double>(value)); });
}

bool all_finite(const EValue& output) {
  if (output.isDouble()) {
    return std::isfinite(output.toDouble());
  }
  if (!output.isTensor()) {
    return true;
  }
  const auto& tensor = output.toTensor();
  switch (tensor.scalar_type()) {
    case ScalarType::Float:
      return all_finite<float>(tensor);
    case ScalarType::Double:
      return all_finite<double>(tensor);
    case ScalarType::Half:
      return all_finite<executorch::aten::Half>(tensor);
    case ScalarType::BFloat16:
      return all_finite<executorch::aten::BFloat16>(tensor);
    default:
      return true;
  }
}

// What stands for an output that is no tensor, as in et_worker/outputs.py: its type in Python, and
// its value; of a float its bits.
std::string plain(const EValue& output) {
  if (output.isNone()) {
    return "NoneTypeNone";
  }
  if (output.isBool()) {
    return output.toBool() ? "boolTrue" : "boolFalse";
  }
  if (output.isInt()) {
    return "int" + std::to_string(output.toInt());
  }
  if (output.isDouble()) {
    const double value = output.toDouble();
    std::string bits(sizeof value, '\0');
    std::memcpy(bits.data(), &value, sizeof value);
    return "float" + bits;
  }
  if (output.isString()) {
    return "str" + std::string(output.toString());
  }
  throw Failure("unsupported", "runner=native knows no outputs that are lists");
}

// The checksum of et_worker/outputs.py: dtype, shape and bytes of each tensor; plain values.
std::string summarize(const std::string& method, const std::vector<EValue>& outputs,
                      bool check_finite) {
  if (outputs.empty()) {
    throw Failure("output", method + " returned nothing");
  }
  et_peak::Sha256 digest;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (check_finite && !all_finite(outputs[i])) {
      throw Failure("output", method + " output " + std::to_string(i) + " is not finite");
    }
    if (!outputs[i].isTensor()) {
      const std::string value = plain(outputs[i]);
      digest.update(value.data(), value.size());
      continue;
    }
    const auto& tensor = outputs[i].toTensor();
    std::string head = type_name(tensor.scalar_type()) + "[";
    for (ssize_t d = 0; d < tensor.dim(); ++d) {
      head += (d ? ", " : "") + std::to_string(tensor.size(d));
    }
    head += "]";
    digest.update(head.data(), head.size());
    digest.update(tensor.const_data_ptr(), tensor.nbytes());
  }
  return digest.hex_digest().substr(0, 16);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Module::LoadMode load_mode(const std::string& name) {
  static const std::map<std::string, Module::LoadMode> modes = {
      {"mmap", Module::LoadMode::Mmap},
      {"mlock", Module::LoadMode::MmapUseMlock},
      {"buffer", Module::LoadMode::File}};
  if (!modes.count(name)) {
    fail("unknown load mode " + name);
  }
  return modes.at(name);
}

void measure(const std::vector<std::string>& words, et_peak::Events& events,
             et_peak::Phases& phases) {
  const std::string &program = words[0], &method = words[1], &mode = words[3];
  std::vector<size_t> marks;
  for (const auto& mark : split(words[4], ',')) {
    marks.push_back(std::strtoul(mark.c_str(), nullptr, 10));
  }
  std::vector<TensorPtr> inputs;
  for (size_t i = 6; i < words.size(); ++i) {
    inputs.push_back(make_input(words[i]));
  }
  Module module(program, load_mode(mode));
  const std::vector<EValue> values(inputs.begin(), inputs.end());
  phases.baseline(et_peak::threads());

  phases.run("load_program", [&] { check(module.load(), "loading the program"); });
  auto names = module.method_names();
  if (names.ok() && !names->count(method)) {
    std::string known;
    for (const auto& name : *names) {
      known += (known.empty() ? "" : ", ") + name;
    }
    fail("the program has no method '" + method + "'; it has " + known);
  }
  phases.run("load_method", [&] {
    const Error error = module.load_method(method);
    if (error == Error::NotFound) {  // 0x20: no such backend or operator in this build
      throw Failure("unsupported",
                    "the program needs a backend or an operator that this runtime lacks");
    }
    check(error, "loading " + method);
  });
  const int64_t load_rss = et_peak::rss_bytes();

  std::vector<double> seconds;
  std::vector<EValue> outputs;
  const auto execute = [&] {
    const auto began = std::chrono::steady_clock::now();
    auto result = module.execute(method, values);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    check(result.error(), "executing " + method);
    seconds.push_back(took.count());
    outputs = std::move(*result);  // tensors are views of the method's own memory
  };
  phases.run("first", execute);
  const int64_t first_peak = phases.peak_bytes();
  const auto mark = [&] {
    events.emit("mark", et_peak::Fields()
                            .put("iterations", static_cast<int64_t>(seconds.size()))
                            .put("rss_bytes", et_peak::rss_bytes())
                            .put("peak_bytes", phases.peak_bytes_now())
                            .put("first_peak_bytes", first_peak)
                            .put("load_rss_bytes", load_rss)
                            .put("exec_median_s", median(seconds))
                            .put("exec_first_s", seconds[0]));
  };
  mark();
  const std::string sha = summarize(method, outputs, words[5] == "finite");
  if (marks.back() > 1) {
    phases.run("loop", [&] {
      while (seconds.size() < marks.back()) {
        execute();
        if (std::count(marks.begin(), marks.end(), seconds.size())) {
          mark();
        }
      }
    });
  }
  events.emit("result", et_peak::Fields()
                            .put("output_sha", sha)
                            .put("load_mode", mode)
                            .put("locked_bytes", et_peak::status_bytes("VmLck:"))
                            .put("threads", et_peak::threads())
                            .put("baseline_bytes", phases.baseline_bytes())
                            .put("load_rss_bytes", load_rss)
                            .put("first_peak_bytes", first_peak)
                            .put("peak_bytes", phases.peak_bytes())
                            .put("steady_rss_bytes", et_peak::rss_bytes())
                            .put("total_s", events.seconds()));
}

} // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + std::min(count, 1), arguments + count);
  if (words.size() < 6) {
    std::fprintf(stderr, "usage: runner PROGRAM METHOD EVENTS LOAD_MODE MARKS CHECK [INPUT ...]\n");
    return 2;
  }
  et_peak::Events events(words[2]);
  et_peak::Phases phases(events);
  int code = 0;
  try {
    measure(words, events, phases);
  } catch (const std::exception& error) {
    const auto* failure = dynamic_cast<const Failure*>(&error);
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    events.emit("error", et_peak::Fields()
                             .put("kind", memory ? "memory" : failure ? failure->kind : "exception")
                             .put("type", std::string("native"))
                             .put("reason", phases.current() + ": " + error.what()));
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  std::string native;
  for (const auto& path : et_peak::mapped_libraries()) {
    native += (native.empty() ? "" : ", ") + et_peak::quote(path);
  }
  events.emit("trace", et_peak::Fields().raw("files", "[]").raw("native", "[" + native + "]"));
  std::fflush(nullptr);
  _exit(code);  // nothing of the tear-down is measured; a delegate's must not change the exit code
}
