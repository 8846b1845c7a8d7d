#pragma once
#include <functional>

#include "apiserver/request/options.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/response_encoder.h"
#include "net/http/http.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// What to watch.
struct WatchRequest {
    const Resource& resource;
    std::string namespace_;
    ListOptions options;
};

/// Answers a watch: the objects that exist (where asked for), then every change, with bookmarks; until the peer leaves, the time
/// is up or history has been compacted. References outlive the task. `begun` is called, once or more, when the peer has to take what
/// exists, or when there is nothing more of it.
Task<> serve_watch(ResourceStore& objects, WatchRequest request, ResponseEncoder encoder, net::Headers headers, Random& random,
                   net::HttpResponder& responder, std::function<void()> begun);

}  // namespace porthole::apiserver
