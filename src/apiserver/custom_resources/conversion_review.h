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
    std::string api_version;  ///< in which the objects are wanted
    std::vector<schema::Value> objects;
};
std::string to_json(const ConversionReview& review);

/// Why there are no converted objects.
struct ConversionFailure {
    std::string type;     ///< as metrics have it: "conversion_webhook_malformed_response_failure"
    std::string message;  ///< in upstream's words, after "conversion webhook for KIND "
};
inline constexpr const char* ConversionCallFailure = "conversion_webhook_call_failure";

/// The objects of an answer, in the review's order: each is what the review's object has become, in the wanted version and of the same
/// kind, name, namespace and uid, with the metadata that it had and the answer's labels and annotations.
std::expected<std::vector<schema::Value>, ConversionFailure> parse_conversion_answer(std::string_view body, const ConversionReview& review);

/// As upstream names it: "example.com/v1, Kind=Widget".
std::string kind_text(const schema::Value& object);

}  // namespace porthole::apiserver
