#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "apiserver/request/request_info.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// Whether the request changes something.
bool is_mutating(const RequestInfo& info);

/// Counts and durations of requests, in Prometheus' text form under Kubernetes' names.
///
/// Requests are counted before they are authenticated, so those for a resource that is not `served` are counted together, and so are
/// methods that HTTP does not define: the number of series is bounded by the API, not by what clients send. The API grows by definitions of
/// custom resources, whose series stay when they are deleted; once there are MostSeries, further ones are counted like what is not served.
/// Every begin() is followed by an end() with the same `info` and `served`.
class RequestMetrics {
public:
    static constexpr std::size_t MostSeries = 16384;  ///< some ten times what the built-in kinds make

    void begin(const RequestInfo& info, bool served);
    void end(const RequestInfo& info, bool served, bool dry_run, int code, Duration taken);

    void append(std::string& out) const;
    std::uint64_t total() const { return total_; }

private:
    static constexpr std::array<double, 13> Buckets{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 5, 10, 30};
    struct Histogram {
        std::array<std::uint64_t, Buckets.size()> counts{};
        std::uint64_t count = 0;
        double sum = 0;
    };
    struct Series {
        std::map<std::pair<bool, int>, std::uint64_t> requests;  // by whether it was a dry run, and code
        Histogram durations;
    };
    static std::string labels(const RequestInfo& info, bool served);
    /// The series that counts the request, and its labels.
    std::pair<const std::string, Series>& series_of(const RequestInfo& info, bool served);

    std::unordered_map<std::string, Series> series_;  // by label text
    std::map<std::string, std::int64_t> long_running_;
    std::array<std::size_t, 2> in_flight_{};  // mutating, reading; watches and streams are in neither
    std::uint64_t total_ = 0;
};

}  // namespace porthole::apiserver
