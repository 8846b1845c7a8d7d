#include <chrono>
#include <iterator>

#include <protozero/pbf_writer.hpp>

#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/access.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/scalar.h"
#include "schema/scalars.h"
#include "schema/type.h"

namespace porthole::schema {
namespace {

using Writer = protozero::pbf_writer;

template <class T>
const T& as(const void* memory) {
    return *static_cast<const T*>(memory);
}

/// protozero's writers append to one string; messages that stay empty are undone, so the length tells.
class Encoder {
public:
    std::string encode(const Type& type, const void* object) {
        Writer writer(out_);
        structure(writer, type, object);
        return std::move(out_);
    }

private:
    void structure(Writer& writer, const Type& type, const void* object) {
        for (const Field& field : type.fields) {
            if (field.number == 0 || field.is(Field::Inlined)) continue;
            member_of(writer, field, member(object, field.offset));
        }
        for (const InlinedType& inlined : type.inlined) {
            if (inlined.number == 0) continue;
            Writer nested(writer, inlined.number);
            structure(nested, *inlined.type, object);
        }
    }

    void member_of(Writer& writer, const Field& field, const void* memory) {
        if (field.is_list()) return list(writer, field, memory);
        if (field.is_map()) return map(writer, field, memory);
        if (field.access) {
            const void* value = field.access->get(memory);
            if (value) element(writer, field, field.number, value);
            return;
        }
        if (field.form == Form::Struct) {
            Writer nested(writer, field.number);  // leaves nothing where nothing is set
            structure(nested, *field.type, memory);
            return;
        }
        if (!scalar_is_zero(field.form, memory)) element(writer, field, field.number, memory);
    }

    void list(Writer& writer, const Field& field, const void* memory) {
        const std::size_t size = field.access->size(memory);
        if (size == 0) return;
        if (field.is(Field::WrappedList)) {
            return message(writer, field.number, [&](Writer& nested) { elements(nested, field, 1, memory, size); });
        }
        if (field.is(Field::Packed)) return packed(writer, field, memory, size);
        elements(writer, field, field.number, memory, size);
    }

    void elements(Writer& writer, const Field& field, std::uint32_t number, const void* memory, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) element(writer, field, number, field.access->get_at(memory, i));
    }

    void packed(Writer& writer, const Field& field, const void* memory, std::size_t size) {
        std::string bytes;
        for (std::size_t i = 0; i < size; ++i) {
            const void* value = field.access->get_at(memory, i);
            if (field.form == Form::Double) {
                bytes.append(static_cast<const char*>(value), sizeof(double));
            } else {
                protozero::write_varint(std::back_inserter(bytes), varint(field.form, value));
            }
        }
        writer.add_bytes(field.number, bytes);
    }

    static std::uint64_t varint(Form form, const void* value) {
        switch (form) {
            case Form::Bool:
                return load<bool>(value);
            case Form::Int32:
            case Form::Enum:
                return static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(value)});
            case Form::Uint32:
                return load<std::uint32_t>(value);
            default:
                return load<std::uint64_t>(value);
        }
    }

    void map(Writer& writer, const Field& field, const void* memory) {
        struct Context {
            Encoder& encoder;
            Writer& writer;
            const Field& field;
        } context{*this, writer, field};
        field.access->visit(memory, &context, [](void* raw, const std::string& key, const void* value) {
            auto& [encoder, writer, field] = *static_cast<Context*>(raw);
            Writer entry(writer, field.number);
            entry.add_string(1, key);
            encoder.element(entry, field, 2, value);
            return true;
        });
    }

    template <class Content>
    void message(Writer& writer, std::uint32_t number, Content content) {
        const std::size_t before = out_.size();
        {
            Writer nested(writer, number);
            content(nested);
        }
        if (out_.size() == before) writer.add_message(number, "", 0);
    }

    /// A value that is there, even when it is zero.
    void element(Writer& writer, const Field& field, std::uint32_t number, const void* memory) {
        switch (field.form) {
            case Form::Bool:
            case Form::Int32:
            case Form::Enum:
            case Form::Int64:
            case Form::Uint32:
            case Form::Uint64:
                return writer.add_uint64(number, varint(field.form, memory));
            case Form::Double:
                return writer.add_double(number, load<double>(memory));
            case Form::String:
            case Form::Bytes:
                return writer.add_bytes(number, as<std::string>(memory));
            case Form::Quantity:
                return message(writer, number, [&](Writer& nested) { nested.add_string(1, as<Quantity>(memory).to_string()); });
            case Form::IntOrString:
                return message(writer, number, [&](Writer& nested) { int_or_string(nested, as<IntOrString>(memory)); });
            case Form::Time:
                return message(writer, number, [&](Writer& nested) { time(nested, as<Timestamp>(memory)); });
            case Form::MicroTime:
                return message(writer, number, [&](Writer& nested) { time(nested, as<MicroTimestamp>(memory)); });
            case Form::Duration:
                return message(writer, number, [&](Writer& nested) { nested.add_int64(1, as<std::chrono::nanoseconds>(memory).count()); });
            case Form::Raw:
            case Form::Json:
            case Form::FieldsV1:
                return message(writer, number, [&](Writer& nested) { nested.add_bytes(1, to_json(as<Value>(memory))); });
            case Form::Struct:
                return message(writer, number, [&](Writer& nested) { structure(nested, *field.type, memory); });
            case Form::Nested:
                return message(writer, number,
                               [&](Writer& nested) { elements(nested, *field.element, 1, memory, field.element->access->size(memory)); });
        }
    }

    static void int_or_string(Writer& writer, const IntOrString& value) {
        writer.add_int64(1, value.is_string() ? 1 : 0);
        writer.add_int32(2, value.as_int());
        writer.add_string(3, value.as_string());
    }

    /// The zero time is an empty message.
    template <class Time>
    static void time(Writer& writer, const Time& value) {
        if (value.is_zero()) return;
        writer.add_int64(1, value.seconds());
        writer.add_int32(2, value.nanoseconds_of_second());
    }

    std::string out_;
};

constexpr std::string_view Magic("k8s\0", 4);

}  // namespace

std::string encode_protobuf(const Type& type, const void* object) { return Encoder().encode(type, object); }

void append_field_head(std::uint32_t number, std::size_t size, std::string& out) {
    constexpr std::uint32_t LengthDelimited = 2;
    protozero::add_varint_to_buffer(&out, number << 3 | LengthDelimited);
    protozero::add_varint_to_buffer(&out, size);
}

bool has_envelope(std::string_view bytes) { return bytes.starts_with(Magic); }

std::string envelope_head(std::string_view api_version, std::string_view kind, std::size_t size) {
    std::string out(Magic);
    Writer writer(out);
    {
        Writer type_meta(writer, 1);
        type_meta.add_string(1, api_version.data(), api_version.size());
        type_meta.add_string(2, kind.data(), kind.size());
    }
    append_field_head(2, size, out);
    return out;
}

std::string seal_envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
    return envelope_head(api_version, kind, raw.size()).append(raw);
}

std::string encode_enveloped(const Kind& kind, const void* object) {
    return seal_envelope(kind.api_version(), kind.kind, encode_protobuf(*kind.type, object));
}

Result<std::string> encode_enveloped(const Kind& kind, const Value& value) {
    Instance instance(*kind.type);
    TRY_VOID(from_value(*kind.type, instance.get(), value));
    return encode_enveloped(kind, instance.get());
}

}  // namespace porthole::schema
