#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porthole {

/// One family of metrics, appended to `out`, which must outlive it, in Prometheus' text form.
///
///     const MetricFamily family(out, "apiserver_audit_level_total", "counter", "Requests by the level that the policy gives them.");
///     family.add(metric_label("level", "Metadata"), 7);
///
/// Labels are separated by commas; "" for none. Their values are written as they are: names of objects need no escaping.
class MetricFamily {
public:
    MetricFamily(std::string& out, std::string name, std::string_view type, std::string_view help);

    void add(std::string_view labels, std::string_view value) const { add_part("", labels, value); }
    /// Nine digits.
    void add(std::string_view labels, double value) const;
    template <std::integral T>
    void add(std::string_view labels, T value) const {
        add(labels, std::string_view(std::to_string(value)));
    }
    /// A part of a histogram: "_bucket", "_sum" or "_count".
    void add_part(std::string_view suffix, std::string_view labels, std::string_view value) const;

private:
    std::string& out_;
    std::string name_;
};

/// `name="value"`
std::string metric_label(std::string_view name, std::string_view value);
/// As MetricFamily::add() writes a number.
std::string metric_number(double value);

/// The counts of a histogram with one set of labels, of which there is at least one. `bounds`, which outlive it, are in ascending order.
class MetricHistogram {
public:
    explicit MetricHistogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size()) {}
    void add(double value);
    void append(const MetricFamily& family, const std::string& labels) const;

private:
    std::span<const double> bounds_;
    std::vector<std::uint64_t> counts_;  ///< of values up to each bound
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

}  // namespace porthole
