#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "schema/access.h"
#include "schema/compare.h"
#include "schema/convert_member.h"
#include "schema/fields/default_rules.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/scalar.h"

namespace porthole::schema {
namespace {

bool leads_on(const Field& field) {
    return field.form == Form::Nested || (field.form == Form::Struct && !field.type->is(Type::Alternatives));
}

bool leads_to_default(const Field& field, std::set<const Type*>& seen) {
    if (!field.default_json().empty()) return true;
    if (!leads_on(field)) return false;
    if (field.form == Form::Nested) return leads_to_default(*field.element, seen);
    return seen.insert(field.type).second &&
           std::ranges::any_of(field.type->fields, [&](const Field& below) { return leads_to_default(below, seen); });
}

/// The fields that have a default or lead to one: few of a pod's. Looked for once for each type and thread.
const std::vector<const Field*>& fields_with_defaults(const Type& type) {
    thread_local std::unordered_map<const Type*, std::vector<const Field*>> known;
    const auto [found, is_new] = known.try_emplace(&type);
    if (is_new) {
        for (const Field& field : type.fields) {
            std::set<const Type*> seen;
            if (leads_to_default(field, seen)) found->second.push_back(&field);
        }
    }
    return found->second;
}

/// As Defaulter in fields.cc, for a struct, whose members need no search by name.
class StructDefaulter {
public:
    bool has_changed() const { return has_changed_; }

    void object(const Type& type, void* object) {
        for (const Field* field : fields_with_defaults(type)) {
            void* memory = member(object, field->offset);
            if (!field->default_json().empty()) set_default(type, *field, memory);
            if (leads_on(*field)) below(*field, memory);
        }
    }

private:
    void set_default(const Type& type, const Field& field, void* memory) {
        if (!is_unset(field, memory) || !budget_.take(field.default_json())) return;
        has_changed_ = true;
        if (set_plain_text(field, memory)) return;
        auto parsed = parse_json(field.default_json());
        CHECK(parsed.has_value() && member_from_value(type, field, memory, *parsed).has_value());
    }

    /// Most defaults are a text without escapes, which need not be parsed. False for another one.
    static bool set_plain_text(const Field& field, void* memory) {
        std::string_view json = field.default_json();
        if (field.form != Form::String || !field.is_single() || json.front() != '"' || json.find('\\') != json.npos) return false;
        json.remove_prefix(1);
        json.remove_suffix(1);
        *static_cast<std::string*>(field.access ? field.access->emplace(memory) : memory) = json;
        return true;
    }

    static bool is_unset(const Field& field, const void* memory) {
        const bool is_absent = field.is(Field::OmitEmpty) && member_is_absent(field, memory);
        if (is_absent || (field.is(Field::OmitEmpty) && field.form != Form::Struct)) return is_absent;
        const Value value = member_to_value(field, memory);
        return is_unset_value(field, &value);
    }

    /// The members of the structs that the member has. An optional struct that is absent stays so.
    void below(const Field& field, void* memory) {
        if (field.is_list()) {
            const std::size_t size = field.access->size(memory);
            for (std::size_t i = 0; i < size; ++i) element(field, field.access->get_at(memory, i));
        } else if (field.is_map()) {
            std::pair context(this, &field);
            field.access->visit(memory, &context, [](void* raw, const std::string&, const void* value) {
                const auto& [self, field] = *static_cast<decltype(context)*>(raw);
                self->element(*field, value);
                return true;
            });
        } else if (const void* value = field.access ? field.access->get(memory) : memory) {
            element(field, value);
        }
    }

    /// `value` is in the object that is to be changed, though Access shows it as const.
    void element(const Field& field, const void* value) {
        void* memory = const_cast<void*>(value);
        if (field.form != Form::Nested) return object(*field.type, memory);
        if (leads_on(*field.element)) below(*field.element, memory);
    }

    DefaultBudget budget_;
    bool has_changed_ = false;
};

}  // namespace

bool apply_table_defaults(const Type& type, void* object) {
    StructDefaulter defaulter;
    defaulter.object(type, object);
    return defaulter.has_changed();
}

}  // namespace porthole::schema
