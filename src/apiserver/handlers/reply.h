#pragma once
#include <vector>

#include "apiserver/handlers/request_context.h"
#include "apiserver/resources/response_encoder.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// The headers that every answer has: Audit-Id, warnings, no caching.
net::Headers common_headers(const RequestContext& context);

// Each answers the request once and sets context.code.
Task<> reply(RequestContext& context, int code, std::string content_type, std::vector<store::Bytes> body);
Task<> reply_text(RequestContext& context, int code, std::string text);
/// A tree, such as a Status or a review, in the encoding that the request accepts (JSON if it accepts none).
Task<> reply_tree(RequestContext& context, int code, schema::Value tree);
/// The Status of a failure. When an answer has begun, the stream is ended instead.
Task<> reply_error(RequestContext& context, Error error);
/// A stored object in its stored version.
Task<> reply_object(RequestContext& context, const Resource& resource, int code, store::Bytes stored, Timestamp now);

}  // namespace porthole::apiserver
