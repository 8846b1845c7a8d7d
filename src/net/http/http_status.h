#pragma once
#include <optional>

#include "net/http/http.h"

namespace porthole::net {

/// The reason phrase of a status code, "Not Found"; "" if unknown.
std::string_view reason_phrase(int code);
/// `Status` of Kubernetes as JSON, for failures below the API.
std::string status_json(int code, Reason reason, std::string_view message);
/// Answers with such a Status.
Task<> respond_status(HttpResponder& responder, int code, Reason reason, std::string message);
/// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(SystemTime time);
/// Reads exactly that form, which servers have to send; nullopt for any other text.
std::optional<SystemTime> parse_http_date(std::string_view text);

}  // namespace porthole::net
