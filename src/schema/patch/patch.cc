#include "schema/patch/patch.h"

namespace porthole::schema {
namespace {

/// RFC 7386. Nulls in what is new vanish, too.
void merge(Value& target, const Value& patch) {
    if (!patch.is_object()) {
        target = Value(patch);
        return;
    }
    if (!target.is_object()) target = Value::object();
    for (const Member& member : patch.as_object()) {
        if (member.value.is_null())
            target.erase(member.key);
        else
            merge(target[member.key], member.value);
    }
}

Error wrong_shape(const char* what) {
    return Error(Reason::BadRequest, std::string("error decoding patch: ") + what + " must be an object");
}

}  // namespace

Result<Value> apply_merge_patch(const Value& current, const Value& patch) {
    if (!patch.is_object()) return wrong_shape("a merge patch");
    Value result = current;
    merge(result, patch);
    return result;
}

std::optional<PatchType> parse_patch_type(std::string_view media_type) {
    if (media_type == "application/json-patch+json") return PatchType::Json;
    if (media_type == "application/merge-patch+json") return PatchType::Merge;
    if (media_type == "application/strategic-merge-patch+json") return PatchType::Strategic;
    if (media_type == "application/apply-patch+yaml") return PatchType::Apply;
    return std::nullopt;
}

Result<Value> apply_patch(PatchType type, const Kind& kind, const Value& current, const Value& patch) {
    switch (type) {
        case PatchType::Json:
            return apply_json_patch(current, patch);
        case PatchType::Merge:
            return apply_merge_patch(current, patch);
        case PatchType::Strategic:
            if (!kind.type || !kind.type->create) {
                return Error(Reason::UnsupportedMediaType,
                             "the body of the request was in an unknown format - accepted media types include: "
                             "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
            }
            if (!patch.is_object()) return wrong_shape("a strategic merge patch");
            return apply_strategic_patch(*kind.type, current, patch);
        case PatchType::Apply:
            break;
    }
    CHECK(!"server-side apply has a function of its own");
    return Error();
}

}  // namespace porthole::schema
