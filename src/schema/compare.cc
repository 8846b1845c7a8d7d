#include "schema/compare.h"

#include <chrono>
#include <string>

#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/access.h"
#include "schema/scalar.h"
#include "schema/scalars.h"
#include "schema/value.h"

namespace porthole::schema {
namespace {

template <class T>
bool same(const void* left, const void* right) {
    return *static_cast<const T*>(left) == *static_cast<const T*>(right);
}

bool equal_values(const Field& field, const void* left, const void* right) {
    switch (field.form) {
        case Form::Bool:
            return load<bool>(left) == load<bool>(right);
        case Form::Int32:
        case Form::Uint32:
        case Form::Enum:
            return load<std::int32_t>(left) == load<std::int32_t>(right);
        case Form::Int64:
        case Form::Uint64:
            return load<std::int64_t>(left) == load<std::int64_t>(right);
        case Form::Double:
            return load<double>(left) == load<double>(right);
        case Form::String:
        case Form::Bytes:
            return same<std::string>(left, right);
        case Form::Quantity:
            return same<Quantity>(left, right);
        case Form::IntOrString:
            return same<IntOrString>(left, right);
        case Form::Time:
            return same<Timestamp>(left, right);
        case Form::MicroTime:
            return same<MicroTimestamp>(left, right);
        case Form::Duration:
            return same<std::chrono::nanoseconds>(left, right);
        case Form::Raw:
        case Form::Json:
        case Form::FieldsV1:
            return same<Value>(left, right);
        case Form::Struct:
            return equal(*field.type, left, right);
        case Form::Nested:
            return equal_members(*field.element, left, right);
    }
    return false;
}

bool equal_lists(const Field& field, const void* left, const void* right) {
    const Access& access = *field.access;
    const std::size_t size = access.size(left);
    if (size != access.size(right)) return false;
    for (std::size_t i = 0; i < size; ++i)
        if (!equal_values(field, access.get_at(left, i), access.get_at(right, i))) return false;
    return true;
}

bool equal_maps(const Field& field, const void* left, const void* right) {
    const Access& access = *field.access;
    if (access.size(left) != access.size(right)) return false;
    struct Context {
        const Field& field;
        const void* right;
    } context{field, right};
    return access.visit(left, &context, [](void* raw, const std::string& key, const void* value) {
        const auto& [field, right] = *static_cast<Context*>(raw);
        const void* twin = field.access->find(right, key);
        return twin && equal_values(field, value, twin);
    });
}

}  // namespace

bool equal_members(const Field& field, const void* left, const void* right) {
    if (field.is_list()) return equal_lists(field, left, right);
    if (field.is_map()) return equal_maps(field, left, right);
    if (!field.access) return equal_values(field, left, right);
    const void* left_value = field.access->get(left);
    const void* right_value = field.access->get(right);
    if (!left_value || !right_value) return left_value == right_value;
    return equal_values(field, left_value, right_value);
}

bool equal(const Type& type, const void* left, const void* right) {
    for (const Field& field : type.fields)
        if (!equal_members(field, member(left, field.offset), member(right, field.offset))) return false;
    return true;
}

bool struct_is_zero(const Type& type, const void* object) {
    for (const Field& field : type.fields) {
        const void* memory = member(object, field.offset);
        const bool plain = field.is_single() && !field.access;
        const bool zero = !plain                       ? member_is_absent(field, memory)
                          : field.form == Form::Struct ? struct_is_zero(*field.type, memory)
                                                       : scalar_is_zero(field.form, memory);
        if (!zero) return false;
    }
    return true;
}

bool member_is_absent(const Field& field, const void* memory) {
    if (!field.is_single()) return field.access->size(memory) == 0;
    if (field.access) return field.access->get(memory) == nullptr;
    if (field.form == Form::Struct) return field.is(Field::OmitZero) && struct_is_zero(*field.type, memory);
    return field.is(Field::OmitZero) ? scalar_is_zero(field.form, memory) : scalar_is_empty(field.form, memory);
}

}  // namespace porthole::schema
