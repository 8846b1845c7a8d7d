#include "hns/documents.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

/// HNS' documents nest a few levels; deeper ones are mistakes or attacks.
constexpr schema::JsonLimits Limits{.depth = 64};

}  // namespace

Result<void> from_tree(const schema::Type& type, void* document, schema::Value tree) {
    if (tree.is_null()) return {};
    if (!tree.is_object()) return Error(Reason::BadRequest, std::string(type.name) + " must be an object, not " + tree.type_name());
    TRY_VOID(normalize(type, tree));
    return schema::from_value(type, document, tree);
}

Result<void> parse_document(const schema::Type& type, void* document, std::string_view json) {
    TRY(schema::Value tree, schema::parse_json(json, Limits));
    if (!tree.is_object()) return Error(Reason::BadRequest, std::string(type.name) + " must be an object, not " + tree.type_name());
    return from_tree(type, document, std::move(tree));
}

std::string write_document(const schema::Type& type, const void* document) {
    std::string json;
    schema::append_json(type, document, json);
    return json;
}

hcn::Policy make_policy(std::string type) {
    hcn::Policy policy;
    policy.type = std::move(type);
    policy.settings = schema::Value::object();
    return policy;
}

bool is_policy(const hcn::Policy& policy, std::string_view type) { return equal_ignoring_case(policy.type, type); }

std::string canonical_mac(std::string_view text) {
    if (text.size() != 17) return "";
    std::string mac;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool separator = i % 3 == 2;
        if (separator ? c != ':' && c != '-' : !std::isxdigit(static_cast<unsigned char>(c))) return "";
        mac += separator ? '-' : to_upper(c);
    }
    return mac;
}

schema::Value detail::settings_tree(const schema::Type& type, const void* settings) { return schema::to_value(type, settings); }

}  // namespace porthole::hns
