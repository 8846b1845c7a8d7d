#include "schema/value_at.h"

#include "schema/access.h"
#include "schema/compare.h"
#include "schema/convert_member.h"
#include "schema/scalar.h"

namespace porthole::schema {

const Value* find_at(const Value& object, std::string_view path) {
    const Value* value = &object;
    while (value) {
        const std::size_t dot = path.find('.');
        value = value->find(path.substr(0, dot));
        if (dot == path.npos) return value;
        path.remove_prefix(dot + 1);
    }
    return nullptr;
}

Value value_at(const Type& type, const void* object, std::string_view path) {
    const std::size_t dot = path.find('.');
    const Field* field = type.find_field(path.substr(0, dot));
    const void* memory = field ? member(object, field->offset) : nullptr;
    if (!field || (field->is(Field::OmitEmpty) && member_is_absent(*field, memory))) return {};
    if (dot == path.npos) return member_to_value(*field, memory);
    path.remove_prefix(dot + 1);
    if (field->is_single() && field->form == Form::Struct && !field->type->is(Type::Alternatives)) {
        const void* below = field->access ? field->access->get(memory) : memory;
        return below ? value_at(*field->type, below, path) : Value();
    }
    const Value tree = member_to_value(*field, memory);
    const Value* found = find_at(tree, path);
    return found ? *found : Value();
}

}  // namespace porthole::schema
