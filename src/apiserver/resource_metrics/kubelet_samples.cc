#include "apiserver/resource_metrics/kubelet_samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view Blanks = " \t\r";
constexpr double NanosecondsOfSecond = 1e9;
constexpr std::int64_t NanosecondsOfMillisecond = 1'000'000;
constexpr double MostCount = 9e18;  ///< what an int64 holds, with some room

/// One line: `name{label="value",...} value [milliseconds]`.
struct Sample {
    std::string_view name;
    std::string container, namespace_, pod;
    double value = 0;
    std::optional<std::int64_t> time;  ///< in nanoseconds
};

Error malformed(std::string_view line) {
    constexpr std::size_t Shown = 100;
    return Error(Reason::BadRequest, "not a metric: " + std::string(line.substr(0, Shown)));
}

/// Takes what is quoted from the front of `rest`. Nullopt when nothing is, or its end is missing.
std::optional<std::string> take_quoted(std::string_view& rest) {
    if (!rest.starts_with('"')) return std::nullopt;
    std::string text;
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i] == '"') {
            rest.remove_prefix(i + 1);
            return text;
        }
        if (rest[i] == '\\' && i + 1 < rest.size()) {
            ++i;
            text += rest[i] == 'n' ? '\n' : rest[i];
        } else {
            text += rest[i];
        }
    }
    return std::nullopt;
}

/// Takes "{...}" from the front of `rest`, if it is there.
bool take_labels(std::string_view& rest, Sample& sample) {
    if (!rest.starts_with('{')) return true;
    rest.remove_prefix(1);
    for (;;) {
        rest = rest.substr(std::min(rest.find_first_not_of(Blanks), rest.size()));
        if (rest.starts_with('}')) {
            rest.remove_prefix(1);
            return true;
        }
        const std::size_t equals = rest.find('=');
        if (equals == rest.npos) return false;
        const std::string_view name = trim(rest.substr(0, equals), Blanks);
        rest = trim(rest.substr(equals + 1), Blanks);
        auto value = take_quoted(rest);
        if (!value) return false;
        if (name == "container") sample.container = std::move(*value);
        if (name == "namespace") sample.namespace_ = std::move(*value);
        if (name == "pod") sample.pod = std::move(*value);
        rest = rest.substr(std::min(rest.find_first_not_of(Blanks), rest.size()));
        if (rest.starts_with(','))
            rest.remove_prefix(1);
        else if (!rest.starts_with('}'))
            return false;
    }
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

Result<Sample> parse_sample(std::string_view line) {
    Sample sample;
    const std::size_t name_end = line.find_first_of("{ \t");
    if (name_end == 0 || name_end == line.npos) return malformed(line);
    sample.name = line.substr(0, name_end);
    std::string_view rest = trim(line.substr(name_end), Blanks);
    if (!take_labels(rest, sample)) return malformed(line);
    rest = trim(rest, Blanks);
    const std::size_t value_end = std::min(rest.find_first_of(Blanks), rest.size());
    std::string_view value = rest.substr(0, value_end);
    if (value.starts_with('+')) value.remove_prefix(1);
    if (!parse_number(value, sample.value)) return malformed(line);
    rest = trim(rest.substr(value_end), Blanks);
    if (rest.empty()) return sample;
    std::int64_t milliseconds = 0;
    constexpr std::int64_t Latest = INT64_MAX / NanosecondsOfMillisecond;
    if (!parse_number(rest, milliseconds) || milliseconds < 0 || milliseconds > Latest) return malformed(line);
    sample.time = milliseconds * NanosecondsOfMillisecond;
    return sample;
}

/// 0 for what is no amount.
std::uint64_t amount(double value) { return value >= 0 && value < MostCount ? static_cast<std::uint64_t>(value) : 0; }

void set_cpu(UsagePoint& point, const Sample& sample, std::int64_t now) {
    point.cpu = amount(sample.value * NanosecondsOfSecond);
    point.time = sample.time.value_or(now);
}

/// The time is that of the processor's, from which rates come.
void set_memory(UsagePoint& point, const Sample& sample, std::int64_t now) {
    point.memory = amount(sample.value);
    if (point.time == 0) point.time = sample.time.value_or(now);
}

bool is_complete(const UsagePoint& point) { return point.time > 0 && point.cpu > 0 && point.memory > 0; }

/// What is only known to have started has no use yet to tell.
bool tells_nothing(const UsagePoint& point) { return point.cpu == 0 && point.memory == 0 && point.time == 0; }

}  // namespace

Result<KubeletSamples> parse_kubelet_samples(std::string_view text, std::int64_t now) {
    KubeletSamples samples;
    UsagePoint node;
    PodPoints pods;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, end), Blanks);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        TRY(const Sample sample, parse_sample(line));
        const auto point = [&]() -> UsagePoint& { return pods[sample.namespace_ + "/" + sample.pod][sample.container]; };
        if (sample.name == "node_cpu_usage_seconds_total") set_cpu(node, sample, now);
        if (sample.name == "node_memory_working_set_bytes") set_memory(node, sample, now);
        if (sample.name == "container_cpu_usage_seconds_total") set_cpu(point(), sample, now);
        if (sample.name == "container_memory_working_set_bytes") set_memory(point(), sample, now);
        if (sample.name == "container_start_time_seconds")
            point().started_at = static_cast<std::int64_t>(amount(sample.value * NanosecondsOfSecond));
    }
    if (is_complete(node)) samples.node = node;
    for (auto& [name, containers] : pods) {
        std::erase_if(containers, [](const auto& container) { return tells_nothing(container.second); });
        const bool complete = std::ranges::all_of(containers, [](const auto& container) { return is_complete(container.second); });
        if (complete && !containers.empty()) samples.pods.emplace(name, std::move(containers));
    }
    return samples;
}

}  // namespace porthole::apiserver
