#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hns/hns.h"

namespace porthole::hns::wire {

/// A frame is a length of 4 bytes, most significant first, and that much JSON. The first one of a connection is `{"token":"..."}`;
/// then calls and their answers take turns, until `{"call":"Subscribe"}` makes a stream of notifications of the connection.
///
///   {"call":"HcnCreateEndpoint","id":"...","parent":"...","document":"..."}   {"hresult":0,"id":"...","document":"...","error":"..."}
///   {"call":"HNSCall","method":"GET","path":"/globals/version","document":""}
///   {"call":"Control","document":"{\"clear\":true}"}                         what the emulator's faults.h describes
///   {"call":"Subscribe"}                                                     {"notification":2,"status":0,"document":"..."} ...
///
/// Documents and error records are texts inside the JSON, exactly as the real API has them. Empty members may be left out.
inline constexpr std::size_t FrameLimit = 16 << 20;

/// Requires: json.size() <= FrameLimit.
std::string encode_frame(std::string_view json);

/// Assembles frames from the pieces that a connection delivers.
class FrameReader {
public:
    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// The JSON of the next complete frame; nullopt if it is incomplete. Error: RequestEntityTooLarge; the connection must then be closed.
    Result<std::optional<std::string>> next();

private:
    std::string buffer_;
};

/// The members of a call's frame.
struct Request {
    std::string call, id, parent, document, method, path;
};
/// Error: BadRequest.
Result<Request> parse_request(std::string_view json);
std::string write_request(const Request& request);

/// The answer to a call.
struct Response {
    std::uint32_t hresult = 0;
    std::string id, document;
    std::string error;  ///< the error record
};
Result<Response> parse_response(std::string_view json);
std::string write_response(const Response& response);
/// The answer for a failed call.
Response failure(const Error& error);

std::string write_token(const std::string& token);
/// "" if there is none.
std::string parse_token(std::string_view json);

std::string write_notification(const Notification& notification);
Result<Notification> parse_notification(std::string_view json);

/// A call of the API by its name: "HcnQueryLoadBalancerProperties" is {Query, LoadBalancer}.
enum class Verb { Enumerate, Create, Open, Query, Modify, Delete };
/// A call's operation, and the kind of object.
struct CallName {
    Verb verb;
    ObjectKind kind;
};
std::optional<CallName> parse_call_name(std::string_view name);
std::string write_call_name(CallName name);

}  // namespace porthole::hns::wire
