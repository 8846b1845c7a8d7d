#include "apiserver/handlers/body.h"

#include <fmt/format.h>

#include <optional>

#include "apiserver/request/status.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// How a body begins, for a message: as text where it looks like JSON, else in hex digits.
std::string beginning_of(const std::string& body) {
    constexpr std::size_t Shown = 30;
    if (body.empty()) return "<empty>";
    const std::string begin = body.substr(0, Shown);
    std::string text;
    if (begin.front() == '{') {
        text = begin;
    } else {
        for (const unsigned char byte : begin) text += fmt::format("{:02x}", byte);
    }
    return body.size() > Shown ? text + " ..." : text;
}

/// A body that cannot be read at all, in upstream's words.
Error unrecognized(const schema::Kind& kind, Encoding encoding, const std::string& why, const std::string& body) {
    const char* what = encoding == Encoding::Yaml ? "" : "couldn't get version/kind; json parse error: ";
    return bad_request("the object provided is unrecognized (must be of type " + std::string(kind.kind) + "): " + what + why + " (" +
                       beginning_of(body) + ")");
}

/// Checks apiVersion and kind of a body, and fills those that are missing from the path.
Result<void> settle_type(const schema::Kind& kind, Value& tree) {
    if (!tree.is_object()) return bad_request("couldn't get version/kind; json parse error: the body is not an object");
    const std::string expected = kind.api_version();
    const std::string api_version(tree.string_at({"apiVersion"}));
    const std::string name(tree.string_at({"kind"}));
    if (!api_version.empty() && api_version != expected) {
        return bad_request("the API version in the data (" + api_version + ") does not match the expected API version (" + expected + ")");
    }
    if (!name.empty() && name != kind.kind) {
        return bad_request(name + " in version \"" + std::string(kind.version) + "\" cannot be handled as a " + std::string(kind.kind) +
                           ": the kind of the object does not match the resource");
    }
    tree["apiVersion"] = expected;
    tree["kind"] = kind.kind;
    return {};
}

Result<Value> parse_body(RequestContext& context, const schema::Registry& registry, std::vector<std::string>& duplicates) {
    TRY(const Encoding encoding, encoding_of_content_type(context.request.headers.get("content-type")));
    const std::string& body = context.request.body;
    switch (encoding) {
        case Encoding::Json:
            return schema::parse_json(body, duplicates);
        case Encoding::Yaml: {
            std::vector<schema::DuplicateKey> keys;
            auto tree = schema::parse_yaml(body, &keys);
            for (schema::DuplicateKey& one : keys) duplicates.push_back(std::move(one.path));
            return tree;
        }
        case Encoding::Protobuf:
            return schema::has_envelope(body) ? schema::decode_enveloped(registry, body) : schema::parse_json(body, duplicates);
    }
    return Value();
}

/// A faultless JSON body goes straight into its kind's struct. One with a fault, or that leaves its type to the path, is not taken:
/// reading it with care finds the right words.
std::optional<ApiObject> decode_straight(RequestContext& context, const schema::Kind& kind, FieldValidation validation) {
    const auto encoding = encoding_of_content_type(context.request.headers.get("content-type"));
    if (!encoding || *encoding != Encoding::Json) return std::nullopt;
    auto decoded = schema::decode_struct(kind, context.request.body, validation);
    if (!decoded) return std::nullopt;
    for (std::string& warning : decoded->warnings) context.warnings.push_back(std::move(warning));
    return ApiObject(kind, std::move(decoded->instance));
}

}  // namespace

Result<ApiObject> conform(const schema::Kind& kind, Value tree, FieldValidation validation, std::vector<std::string>& warnings) {
    TRY_VOID(settle_type(kind, tree));
    TRY(schema::DecodedObject decoded, schema::conform_object(kind, std::move(tree), {}, validation));
    for (std::string& warning : decoded.warnings) warnings.push_back(std::move(warning));
    return ApiObject(kind, std::move(decoded.value));
}

namespace {

Result<ApiObject> decode_whole_body(RequestContext& context, const schema::Registry& registry, const schema::Kind& kind,
                                    FieldValidation validation) {
    if (auto object = decode_straight(context, kind, validation)) return *std::move(object);
    TRY(const Encoding encoding, encoding_of_content_type(context.request.headers.get("content-type")));
    std::vector<std::string> duplicates;
    if (encoding == Encoding::Protobuf && !kind.type->create)
        return encoding_of_content_type(context.request.headers.get("content-type"), false).error();
    auto tree = parse_body(context, registry, duplicates);
    if (!tree && encoding != Encoding::Protobuf) return unrecognized(kind, encoding, tree.error().message, context.request.body);
    if (!tree) return std::move(tree).error();
    TRY_VOID(settle_type(kind, *tree));
    TRY(schema::DecodedObject decoded, schema::conform_object(kind, *std::move(tree), duplicates, validation));
    for (std::string& warning : decoded.warnings) context.warnings.push_back(std::move(warning));
    return ApiObject(kind, std::move(decoded.value));
}

}  // namespace

Result<ApiObject> decode_body(RequestContext& context, const schema::Registry& registry, const schema::Kind& kind,
                              FieldValidation validation) {
    TRY(ApiObject object, decode_whole_body(context, registry, kind, validation));
    if (context.audit && context.audit->level != AuditLevel::None) {
        const ObjectMeta& metadata = object.metadata();
        context.audit->object = {metadata.namespace_, metadata.name, metadata.uid, metadata.resource_version};
    }
    return object;
}

Result<Value> decode_optional_body(RequestContext& context, const schema::Registry& registry) {
    if (context.request.body.empty()) return Value();
    std::vector<std::string> duplicates;
    return parse_body(context, registry, duplicates);
}

Error unknown_patch_type() {
    return Error(Reason::UnsupportedMediaType,
                 "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
                 "application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml");
}

}  // namespace porthole::apiserver
