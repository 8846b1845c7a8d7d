#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"

namespace porthole::apiserver {

/// A question to a conversion webhook.
struct ConversionReview {
    std::string version;      ///< of apiextensions.k8s.io: "v1" or "v1beta1"
    std::string uid;          ///< which an answer of v1 repeats
    std::string api_version;  ///< the version requested for the objects
    std::vector<schema::Value> objects;
};
std::string to_json(const ConversionReview& review);

/// Why the conversion failed.
struct ConversionFailure {
    std::string type;     ///< as metrics have it: "conversion_webhook_malformed_response_failure"
    std::string message;  ///< upstream's message, after "conversion webhook for KIND "
};
inline constexpr const char* ConversionCallFailure = "conversion_webhook_call_failure";

/// The converted objects of an answer, in the review's order: each has the requested version and the same kind, name, namespace and uid.
/// Its metadata is that of the review's object, with the answer's labels and annotations.
std::expected<std::vector<schema::Value>, ConversionFailure> parse_conversion_answer(std::string_view body, const ConversionReview& review);

/// As upstream names it: "example.com/v1, Kind=Widget".
std::string kind_text(const schema::Value& object);

}  // namespace porthole::apiserver
