#pragma once
#include "apiserver/request/options.h"
#include "apiserver/resources/presentation.h"
#include "apiserver/resources/resource_store.h"
#include "net/http.h"
#include "runtime/random.h"

namespace porthole::apiserver {

struct WatchRequest {
    const Resource& resource;
    std::string namespace_;
    ListOptions options;
};

/// Answers a watch: the objects that there are (where asked for), then every change, with bookmarks; until the peer goes, the time
/// is up or history has been compacted. References outlive the task.
Task<> serve_watch(ResourceStore& objects, WatchRequest request, Presenter presenter, net::Headers headers, Random& random,
                   net::HttpResponder& responder);

}  // namespace porthole::apiserver
