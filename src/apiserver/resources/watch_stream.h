#pragma once
#include <functional>

#include "apiserver/request/options.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/response_encoder.h"
#include "net/http/http.h"
#include "runtime/random.h"
#include "runtime/turns.h"

namespace porthole::apiserver {

/// The parameters of a watch.
struct WatchRequest {
    const Resource& resource;
    std::string namespace_;
    ListOptions options;
    LongWork work;
};

/// Answers a watch: the existing objects (if requested), then every change, with bookmarks; until the peer disconnects, the time limit has
/// passed or history has been compacted. References outlive the task. `begun` is called, once or more, when the peer has to read existing
/// objects, or when there are no more of them.
Task<> serve_watch(ResourceStore& objects, WatchRequest request, ResponseEncoder encoder, net::Headers headers, Random& random,
                   net::HttpResponder& responder, std::function<void()> begun);

}  // namespace porthole::apiserver
