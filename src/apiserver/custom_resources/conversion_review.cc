#include "apiserver/custom_resources/conversion_review.h"

#include <fmt/format.h>

#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr const char* Group = "apiextensions.k8s.io/";
constexpr const char *Malformed = "conversion_webhook_malformed_response_failure", *Partial = "conversion_webhook_partial_response_failure",
                     *Invalid = "conversion_webhook_invalid_converted_object_failure";
constexpr std::size_t LongestMessage = 4096;

/// What is wrong with an answer; "" for nothing.
using Problem = std::string;

/// As messages of Go name a type.
const char* go_type(const Value& value) {
    if (value.is_null()) return "<nil>";
    if (value.is_bool()) return "bool";
    if (value.is_int()) return "int64";
    if (value.is_number()) return "float64";
    if (value.is_string()) return "string";
    return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

/// The review's status, which says whether the objects are there.
Problem check_result(const Value& response) {
    const Value& result = schema::at(response, "result");
    const std::string_view status = result.string_at({"status"});
    if (status == "Success") return "";
    std::string message(result.string_at({"message"}).substr(0, LongestMessage));
    return message.empty() ? "response.result.status was '" + std::string(status) + "', not 'Success'" : message;
}

Problem check_response(const Value& answer, const ConversionReview& review) {
    const bool is_v1 = review.version == "v1";
    if (is_v1 && (answer.string_at({"apiVersion"}) != Group + review.version || answer.string_at({"kind"}) != "ConversionReview"))
        return "expected webhook response of " + std::string(Group) + "v1, Kind=ConversionReview, got " + kind_text(answer);
    const Value& response = schema::at(answer, "response");
    if (!response.is_object()) return "no response provided";
    if (const std::string_view uid = response.string_at({"uid"}); is_v1 && uid != review.uid)
        return "expected response.uid=" + quote(review.uid) + ", got " + quote(uid);
    return check_result(response);
}

Problem check_identity(const Value& original, const Value& converted) {
    const auto differs = [&](const char* what, const char* field) -> Problem {
        const std::string_view before = original.string_at({"metadata", field}), after = converted.string_at({"metadata", field});
        return before == after ? "" : fmt::format("must have the same {}: {} != {}", what, before, after);
    };
    for (const auto& [what, field] : {std::pair("name", "name"), std::pair("namespace", "namespace"), std::pair("UID", "uid")})
        if (Problem problem = differs(what, field); !problem.empty()) return problem;
    return "";
}

/// Of labels or annotations.
Problem check_texts(const std::string& field, const Value& before, const Value& after) {
    if (!after.is_object()) return fmt::format("invalid metadata.{} of type {} in converted object", field, go_type(after));
    std::map<std::string, std::string> texts;
    for (const schema::Member& member : after.as_object()) {
        if (!member.value.is_string())
            return fmt::format("metadata.{}[{}] must be a string, but is {} in converted object", field, member.key, go_type(member.value));
        texts[member.key] = member.value.as_string();
    }
    if (before == after) return "";
    FieldErrors errors;
    if (field == "labels")
        validate_labels(texts, "metadata.labels", errors);
    else
        validate_annotations(texts, "metadata.annotation", errors);
    return errors.empty() ? "" : errors.text();
}

/// Gives the converted object its metadata back, but for labels and annotations.
Problem restore_metadata(const Value& original, Value& converted) {
    const Value* given = converted.find("metadata");
    if (!given) return "missing metadata in converted object";
    if (!given->is_object()) return fmt::format("invalid metadata of type {} in converted object", go_type(*given));
    Value metadata = schema::at(original, "metadata");
    for (const char* field : {"labels", "annotations"}) {
        const Value& after = schema::at(*given, field);
        if (after.is_null()) {
            metadata.erase(field);
            continue;
        }
        if (Problem problem = check_texts(field, schema::at(metadata, field), after); !problem.empty()) return problem;
        metadata[field] = after;
    }
    converted["metadata"] = std::move(metadata);
    return "";
}

Problem accept(const ConversionReview& review, std::size_t index, Value& converted) {
    const Value& original = review.objects[index];
    const auto invalid = [&](const std::string& what, const std::string& why) {
        return fmt::format("returned invalid {} index {}: {}", what, index, why);
    };
    const std::string_view version = converted.string_at({"apiVersion"}), kind = converted.string_at({"kind"});
    if (!converted.is_object() || kind.empty()) return invalid("converted object at", "Object 'Kind' is missing");
    if (version != review.api_version)
        return invalid("converted object at", fmt::format("invalid groupVersion (expected {}, received {})", review.api_version, version));
    if (kind != original.string_at({"kind"}))
        return invalid("converted object at", fmt::format("invalid kind (expected {}, received {})", original.string_at({"kind"}), kind));
    if (Problem problem = check_identity(original, converted); !problem.empty()) return invalid("converted object at", problem);
    if (Problem problem = restore_metadata(original, converted); !problem.empty()) return invalid("metadata in object at", problem);
    return "";
}

}  // namespace

std::string kind_text(const Value& object) {
    return std::string(object.string_at({"apiVersion"})) + ", Kind=" + std::string(object.string_at({"kind"}));
}

std::string to_json(const ConversionReview& review) {
    std::string text = R"({"kind":"ConversionReview","apiVersion":")" + (Group + review.version) + R"(","request":{"uid":)" +
                       schema::to_json(Value(review.uid)) + R"(,"desiredAPIVersion":)" + schema::to_json(Value(review.api_version)) +
                       R"(,"objects":[)";
    for (const Value& object : review.objects) {
        if (&object != review.objects.data()) text += ',';
        schema::append_json(object, text);
    }
    return text + "]}}";
}

std::expected<std::vector<Value>, ConversionFailure> parse_conversion_answer(std::string_view body, const ConversionReview& review) {
    auto answer = schema::parse_json(body);
    if (!answer) return std::unexpected(ConversionFailure{Malformed, "failed: " + answer.error().message});
    if (Problem problem = check_response(*answer, review); !problem.empty())
        return std::unexpected(ConversionFailure{Malformed, "failed: " + problem});
    Value* converted = (*answer)["response"].find("convertedObjects");
    const std::size_t count = converted && converted->is_array() ? converted->as_array().size() : 0;
    if (count != review.objects.size())
        return std::unexpected(ConversionFailure{Partial, fmt::format("returned {} objects, expected {}", count, review.objects.size())});
    std::vector<Value> objects;
    for (Value& object : converted->as_array()) {
        if (Problem problem = accept(review, objects.size(), object); !problem.empty())
            return std::unexpected(ConversionFailure{Invalid, std::move(problem)});
        objects.push_back(std::move(object));
    }
    return objects;
}

}  // namespace porthole::apiserver
