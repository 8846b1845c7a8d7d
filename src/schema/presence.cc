#include "schema/presence.h"

#include "schema/access.h"
#include "schema/scalar.h"
#include "schema/scalars.h"

namespace porthole::schema {

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
