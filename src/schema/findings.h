#pragma once
#include <string>
#include <utility>
#include <vector>

namespace porthole::schema {

/// Adds the result of `make`, the path of a duplicate or unknown member, to `findings`, unless there are 100 already, which is also
/// Kubernetes' limit: a short body can have many of them, each with a long path. A path of more than 4 KiB is cut.
template <class Make>
void add_finding(std::vector<std::string>& findings, Make make) {
    constexpr std::size_t Most = 100, Longest = 4096;
    if (findings.size() >= Most) return;
    std::string path = make();
    if (path.size() > Longest) {
        std::size_t end = Longest;
        while (end > 0 && (path[end] & 0xC0) == 0x80) --end;
        path.resize(end);
    }
    findings.push_back(std::move(path));
}

}  // namespace porthole::schema
