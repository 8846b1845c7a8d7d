#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace porthole::apiserver {

/// How often APIServices have become unavailable, by name and reason, for metrics. Names can be created at any rate, so that beyond
/// `MostCounted` pairs further ones are not counted.
class UnavailableCounts {
public:
    static constexpr std::size_t MostCounted = 4096;

    void add(const std::string& name, const std::string& reason);
    void append(std::string& out) const;

private:
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
};

}  // namespace porthole::apiserver
