#include "schema/convert.h"

#include <algorithm>
#include <string>

#include "schema/access.h"
#include "schema/compare.h"
#include "schema/convert_member.h"
#include "schema/decode_budget.h"
#include "schema/path_step.h"
#include "schema/scalar.h"
#include "schema/scalars.h"
#include "schema/type.h"

namespace porthole::schema {
namespace {

// ---- struct to tree

Value element_to_value(const Field& field, const void* memory) {
    if (field.form == Form::Struct) return to_value(*field.type, memory);
    if (field.form == Form::Nested) return member_to_value(*field.element, memory);
    return scalar_to_value(field.form, memory);
}

Value list_to_value(const Field& field, const void* memory) {
    Array items;
    const std::size_t size = field.access->size(memory);
    items.reserve(size);
    for (std::size_t i = 0; i < size; ++i) items.push_back(element_to_value(field, field.access->get_at(memory, i)));
    return items;
}

Value map_to_value(const Field& field, const void* memory) {
    struct Context {
        const Field& field;
        Object members;
    } context{field, {}};
    context.members.reserve(field.access->size(memory));
    field.access->visit(memory, &context, [](void* raw, const std::string& key, const void* value) {
        auto& [field, members] = *static_cast<Context*>(raw);
        members.append(key, element_to_value(field, value));
        return true;
    });
    return std::move(context.members);
}

}  // namespace

Value member_to_value(const Field& field, const void* memory) {
    if (field.is_list()) return list_to_value(field, memory);
    if (field.is_map()) return map_to_value(field, memory);
    if (!field.access) return element_to_value(field, memory);
    const void* value = field.access->get(memory);
    return value ? element_to_value(field, value) : Value();
}

namespace {

/// A type whose JSON is the bare value of one of its fields: a list where it has items, else the struct, else the bool.
Value alternatives_to_value(const Type& type, const void* object) {
    Value result;
    for (const Field& field : type.fields) {
        const void* memory = member(object, field.offset);
        if (field.form == Form::Bool) {
            if (result.is_null()) result = load<bool>(memory);
        } else if (!member_is_absent(field, memory)) {
            result = member_to_value(field, memory);
        }
    }
    return result;
}

// ---- tree to struct

class StructReader {
public:
    explicit StructReader(DecodeBudget budget = DecodeBudget()) : budget_(budget) {}

    Result<void> read(const Type& type, void* object, const Value& value, const PathStep& here) {
        for (const Member& entry : value.as_object()) {
            const Field* field = type.find_field(entry.key);
            if (!field || entry.value.is_null()) continue;
            const PathStep step = here.child(field->name);
            TRY_VOID(read_member(type, *field, member(object, field->offset), entry.value, step));
        }
        return {};
    }

    Result<void> read_struct(const Type& owner, const Field& field, void* memory, const Value& value, const PathStep& step) {
        const Type& type = *field.type;
        if (type.is(Type::Alternatives)) return read_alternatives(type, memory, value, step);
        if (!value.is_object()) return type_error(value, owner.name, step.go_text(), field, true);
        return read(type, memory, value, step);
    }

    Result<void> read_member(const Type& owner, const Field& field, void* memory, const Value& value, const PathStep& step) {
        if (field.is_list()) {
            if (!value.is_array()) return type_error(value, owner.name, step.go_text(), field, false);
            field.access->clear(memory);
            for (const Value& item : value.as_array()) {
                TRY_VOID(budget_.take(*field.access));
                TRY_VOID(read_element(owner, field, field.access->append(memory), item, step));
            }
            return {};
        }
        if (field.is_map()) {
            if (!value.is_object()) return type_error(value, owner.name, step.go_text(), field, false);
            field.access->clear(memory);
            for (const Member& entry : value.as_object()) {
                TRY_VOID(budget_.take(*field.access));
                TRY_VOID(read_element(owner, field, field.access->insert(memory, std::string(entry.key)), entry.value, step));
            }
            return {};
        }
        if (field.access) TRY_VOID(budget_.take(*field.access));
        return read_element(owner, field, field.access ? field.access->emplace(memory) : memory, value, step);
    }

private:
    Result<void> read_element(const Type& owner, const Field& field, void* memory, const Value& value, const PathStep& step) {
        if (value.is_null() && !is_opaque(field.form)) return {};
        if (field.form == Form::Struct) return read_struct(owner, field, memory, value, step);
        if (field.form == Form::Nested) return read_member(owner, *field.element, memory, value, step);
        TRY(const bool fits, scalar_from_value(field.form, memory, value));
        // The message's path is made only when there is one.
        if (!fits) return type_error(value, owner.name, step.go_text(), field, true);
        return {};
    }

    Result<void> read_alternatives(const Type& type, void* object, const Value& value, const PathStep& step) {
        for (const Field& field : type.fields) {
            const bool fits = field.is_list()            ? value.is_array()
                              : field.form == Form::Bool ? value.is_bool() || value.is_object()
                                                         : value.is_object();
            if (!fits) continue;
            void* memory = member(object, field.offset);
            if (field.form == Form::Bool)
                store<bool>(memory, value.is_object() || value.as_bool());
            else
                TRY_VOID(read_member(type, field, memory, value, step));
        }
        return {};
    }

    DecodeBudget budget_;
};

}  // namespace

void append_value(const Type& type, const void* object, Object& members) {
    members.reserve(members.size() + std::min<std::size_t>(type.fields.size(), 4));
    for (const Field& field : type.fields) {
        const void* memory = member(object, field.offset);
        if (field.is(Field::OmitEmpty) && member_is_absent(field, memory)) continue;
        members.append(std::string(field.name), member_to_value(field, memory));
    }
}

Value to_value(const Type& type, const void* object) {
    if (type.is(Type::Alternatives)) return alternatives_to_value(type, object);
    Object members;
    append_value(type, object, members);
    return members;
}

Value to_value(const Kind& kind, const void* object) {
    Object members;
    members.append("apiVersion", kind.api_version());
    members.append("kind", kind.kind);
    append_value(*kind.type, object, members);
    return members;
}

namespace {

Result<void> read_within(DecodeBudget budget, const Type& type, void* object, const Value& value) {
    Field root;
    root.form = Form::Struct;
    root.type = &type;
    if (!value.is_object() && !type.is(Type::Alternatives)) return type_error(value, "", "", root, true);
    return StructReader(budget).read_struct(type, root, object, value, PathStep());
}

}  // namespace

Result<void> from_value(const Type& type, void* object, const Value& value) { return read_within(DecodeBudget(), type, object, value); }

Result<void> member_from_value(const Type& owner, const Field& field, void* memory, const Value& value) {
    return StructReader().read_member(owner, field, memory, value, PathStep());
}

Result<Value> canonical(const Type& type, const Value& value) {
    Instance instance(type);
    TRY_VOID(read_within(DecodeBudget(DecodeBudget::OfRequest), type, instance.get(), value));
    Object members;
    for (const char* name : {"apiVersion", "kind"})
        if (const Value* found = value.find(name)) members.append(name, *found);
    append_value(type, instance.get(), members);
    return Value(std::move(members));
}

}  // namespace porthole::schema
