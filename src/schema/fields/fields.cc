#include "schema/fields/fields.h"

#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "schema/convert.h"
#include "schema/fields/default_rules.h"
#include "schema/findings.h"
#include "schema/json/json.h"
#include "schema/json/json_struct_parser.h"
#include "schema/path_step.h"
#include "schema/type.h"

namespace porthole::schema {
namespace {

/// Drops what a type does not know and, in custom resources, null members that may not be null.
class Pruner {
public:
    /// `writes_metadata`: the metadata of custom resources, which is a struct, gets the form in which Kubernetes writes it.
    explicit Pruner(bool writes_metadata) : writes_metadata_(writes_metadata) {}

    std::vector<std::string> take() { return std::move(unknown_); }
    /// Metadata that is not any.
    const std::optional<Error>& failure() const { return failure_; }

    void object(Value& value, const Type& type, bool resource, const PathStep& path) {
        if (!value.is_object()) return;
        const bool keeps = type.is(Type::PreserveUnknown);
        value.as_object().erase_if([&](Member& entry) {
            const PathStep here = path.child(entry.key);
            const Field* field = type.find_field(entry.key);
            if (!field) {
                if (keeps || (resource && (entry.key == "apiVersion" || entry.key == "kind"))) return false;
                add_finding(unknown_, [&] { return here.strict_text(); });
                return true;
            }
            const bool run_time = type.create == nullptr;
            if (entry.value.is_null() && !field->is(Field::Nullable) && (run_time || !is_opaque(field->form))) return true;
            member(entry.value, *field, here);
            if (run_time && writes_metadata_ && field->type && field->type->create) write(entry.value, *field->type);
            return false;
        });
    }

private:
    void member(Value& value, const Field& field, const PathStep& path) {
        if (field.is_list() && value.is_array()) {
            std::size_t index = 0;
            for (Value& item : value.as_array()) element(item, field, path.index(index++));
        } else if (field.is_map() && value.is_object()) {
            for (Member& entry : value.as_object()) element(entry.value, field, path.key(entry.key));
        } else if (field.is_single()) {
            element(value, field, path);
        }
    }

    void element(Value& value, const Field& field, const PathStep& path) {
        if (field.form == Form::Nested) return member(value, *field.element, path);
        if (field.form != Form::Struct) return;
        if (field.type->is(Type::Alternatives)) return alternatives(value, *field.type, path);
        object(value, *field.type, field.type->is(Type::EmbeddedResource), path);
    }

    void alternatives(Value& value, const Type& type, const PathStep& path) {
        for (const Field& field : type.fields) {
            if (field.form != Form::Struct || field.is_list() != value.is_array()) continue;
            member(value, field, path);
        }
    }

    void write(Value& value, const Type& type) {
        auto written = canonical(type, value);
        if (written)
            value = *std::move(written);
        else if (!failure_)
            failure_ = std::move(written).error();
    }

    bool writes_metadata_;
    std::vector<std::string> unknown_;
    std::optional<Error> failure_;
};

bool is_zero(const Value& value) {
    return value.is_null() || (value.is_string() && value.as_string().empty()) || (value.is_int() && value.as_int() == 0) ||
           (value.is_bool() && !value.as_bool()) || (value.is_array() && value.as_array().empty());
}

/// Defaults in a tree.
class Defaulter {
public:
    void object(Value& value, const Type& type) {
        if (!value.is_object()) return;
        for (const Field& field : type.fields) member(value.as_object(), field);
    }

private:
    void member(Object& object, const Field& field) {
        Value* value = object.find(field.name);
        const std::string_view text = field.default_json();
        if (!text.empty()) {
            if (is_unset_value(field, value)) {
                if (!budget_.take(text)) return;
                auto parsed = parse_json(text);
                CHECK(parsed.has_value());
                value = &(object[field.name] = *std::move(parsed));
            }
        }
        if (value) return present(*value, field);
        // A struct by value is always there in Go, so its members have their defaults even when nobody mentioned it.
        const bool by_value = field.is_single() && field.form == Form::Struct && !field.is(Field::Pointer);
        if (!by_value || field.type->is(Type::Alternatives)) return;
        Value fresh = Value::object();
        this->object(fresh, *field.type);
        if (!fresh.as_object().empty()) object.append(std::string(field.name), std::move(fresh));
    }

    void present(Value& value, const Field& field) {
        if (field.form == Form::Nested) {
            for_each(value, field, [&](Value& item) { present(item, *field.element); });
        } else if (field.form == Form::Struct && !field.type->is(Type::Alternatives)) {
            for_each(value, field, [&](Value& item) { object(item, *field.type); });
        }
    }

    template <class Function>
    static void for_each(Value& value, const Field& field, Function function) {
        if (field.is_list() && value.is_array()) {
            for (Value& item : value.as_array()) function(item);
        } else if (field.is_map() && value.is_object()) {
            for (Member& entry : value.as_object()) function(entry.value);
        } else if (field.is_single()) {
            function(value);
        }
    }

    DefaultBudget budget_;
};

Error cannot_handle(const Kind& kind, const std::string& why) {
    return Error(Reason::BadRequest, fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", kind.kind, kind.version, why));
}

/// What the mode makes of unknown and duplicate fields: the warnings of it.
Result<std::vector<std::string>> judged(const Kind& kind, const std::vector<std::string>& unknown,
                                        const std::vector<std::string>& duplicates, FieldValidation validation) {
    std::vector<std::string> findings;
    for (const std::string& path : unknown) findings.push_back("unknown field " + quote(path));
    for (const std::string& path : duplicates) findings.push_back("duplicate field " + quote(path));
    if (validation == FieldValidation::Strict && !findings.empty())
        return cannot_handle(kind, fmt::format("strict decoding error: {}", fmt::join(findings, ", ")));
    if (validation != FieldValidation::Warn) findings.clear();
    return findings;
}

}  // namespace

bool is_unset_value(const Field& field, const Value* value) {
    return !value || (value->is_null() && !field.is(Field::Nullable)) || (!field.is(Field::Pointer) && is_zero(*value));
}

std::vector<std::string> prune(Value& value, const Type& type, bool top_level) {
    Pruner pruner(false);
    pruner.object(value, type, top_level, PathStep());
    return pruner.take();
}

void apply_table_defaults(Value& value, const Type& type) { Defaulter().object(value, type); }

Result<DecodedObject> conform_object(const Kind& kind, Value value, const std::vector<std::string>& duplicates,
                                     FieldValidation validation) {
    if (!value.is_object())
        return cannot_handle(
            kind, fmt::format("json: cannot unmarshal {} into Go value of type {}.{}", value.type_name(), kind.version, kind.kind));
    Pruner pruner(true);
    pruner.object(value, *kind.type, true, PathStep());
    if (pruner.failure()) return cannot_handle(kind, pruner.failure()->message);
    const std::vector<std::string> unknown = pruner.take();
    if (kind.type->create) {
        auto written = canonical(*kind.type, value);
        if (!written) return cannot_handle(kind, written.error().message);
        value = *std::move(written);
    }
    TRY(std::vector<std::string> warnings, judged(kind, unknown, duplicates, validation));
    return DecodedObject{std::move(value), std::move(warnings)};
}

std::optional<DecodedStruct> decode_struct(const Kind& kind, std::string_view json, FieldValidation validation) {
    if (!kind.type->create) return std::nullopt;
    Instance instance(*kind.type);
    StructFindings findings;
    const auto read = parse_json_struct(*kind.type, instance.get(), json, &findings);
    if (!read || *read != StructParse::Done) return std::nullopt;
    if (findings.api_version != kind.api_version() || findings.kind != kind.kind) return std::nullopt;
    auto warnings = judged(kind, findings.unknown, findings.duplicates, validation);
    if (!warnings) return std::nullopt;
    return DecodedStruct{std::move(instance), *std::move(warnings)};
}

}  // namespace porthole::schema
