#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>

#include "apiserver/request/request_info.h"
#include "apiserver/resources/resource.h"
#include "runtime/event_loop.h"
#include "store/store.h"

namespace porthole::apiserver {

/// How many objects a list reads, for flow control: counted, and cached for a while, since counting is half the cost of a list. Lives on
/// the store's loop; collaborators outlive it.
class ListSizes {
public:
    ListSizes(const Clock& clock, const store::Store& store, const ResourceTable& resources)
        : clock_(clock), store_(store), resources_(resources) {}

    /// 0 for a resource that is not served here.
    std::size_t of(const RequestInfo& info);

private:
    struct Count {
        std::size_t objects = 0;
        MonotonicTime until{};
    };
    std::size_t count(const std::string& prefix);

    const Clock& clock_;
    const store::Store& store_;
    const ResourceTable& resources_;
    std::unordered_map<std::string, Count> counts_;  ///< by prefix of keys
};

}  // namespace porthole::apiserver
