#include <chrono>
#include <cstring>

#include <protozero/pbf_reader.hpp>

#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/access.h"
#include "schema/decode_budget.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/scalar.h"
#include "schema/type.h"

namespace porthole::schema {
namespace {

using Reader = protozero::pbf_reader;
using WireType = protozero::pbf_wire_type;

constexpr int DeepestMessage = 256;
constexpr int MostEnvelopes = 8;  ///< of objects within each other; a list of ControllerRevisions has three

/// An object in `envelopes` others.
Result<Value> open_object(const Registry& registry, std::string_view bytes, int envelopes);

Error malformed(const std::string& what) { return Error(Reason::BadRequest, "invalid protobuf: " + what); }

std::string_view text_of(Reader& reader) {
    const protozero::data_view view = reader.get_view();
    return {view.data(), view.size()};
}

/// Walks a message and its type together. protozero asserts on a value read with another wire type than it has, so every
/// field's is checked first; truncated input makes it throw, which decode_protobuf turns into an error.
class Decoder {
public:
    Decoder(const Registry* registry, int envelopes, DecodeBudget budget) : registry_(registry), envelopes_(envelopes), budget_(budget) {}

    Result<void> structure(const Type& type, void* object, Reader reader, int depth) {
        if (depth > DeepestMessage) return malformed("nested too deeply");
        std::size_t expected = 0;
        while (reader.next()) {
            const Field* field = find(type, reader.tag(), expected);
            if (field) {
                TRY_VOID(member_of(*field, member(object, field->offset), reader, depth));
            } else if (const InlinedType* inlined = find_inlined(type, reader.tag()); inlined && is_message(reader)) {
                TRY_VOID(structure(*inlined->type, object, Reader(reader.get_view()), depth + 1));
            } else {
                reader.skip();
            }
        }
        return {};
    }

private:
    /// Fields mostly come in the order of the table, so the search starts behind the last one found.
    static const Field* find(const Type& type, std::uint32_t number, std::size_t& expected) {
        const std::size_t count = type.fields.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = expected + i < count ? expected + i : expected + i - count;
            const Field& field = type.fields[at];
            if (field.number != number || field.is(Field::Inlined)) continue;
            expected = at;
            return &field;
        }
        return nullptr;
    }

    static const InlinedType* find_inlined(const Type& type, std::uint32_t number) {
        for (const InlinedType& inlined : type.inlined)
            if (inlined.number == number) return &inlined;
        return nullptr;
    }

    static bool is_message(const Reader& reader) { return reader.has_wire_type(WireType::length_delimited); }

    static bool wants_varint(Form form) {
        return form == Form::Bool || form == Form::Int32 || form == Form::Int64 || form == Form::Uint32 || form == Form::Uint64 ||
               form == Form::Enum;
    }

    Result<void> member_of(const Field& field, void* memory, Reader& reader, int depth) {
        if (field.is_map()) return map_entry(field, memory, reader, depth);
        if (field.is_list()) return list_element(field, memory, reader, depth);
        if (field.access) TRY_VOID(budget_.take(*field.access));
        return element(field, field.access ? field.access->emplace(memory) : memory, reader, depth);
    }

    Result<void> list_element(const Field& field, void* memory, Reader& reader, int depth) {
        if (field.is(Field::WrappedList)) return wrapped(field, memory, reader, depth);
        const bool number = wants_varint(field.form) || field.form == Form::Double;
        if (number && is_message(reader)) return packed(field, memory, reader);
        TRY_VOID(budget_.take(*field.access));
        return element(field, field.access->append(memory), reader, depth);
    }

    Result<void> wrapped(const Field& field, void* memory, Reader& reader, int depth) {
        if (!is_message(reader)) return malformed("a list alias that is not a message");
        Reader items(reader.get_view());
        while (items.next()) {
            if (items.tag() != 1) {
                items.skip();
                continue;
            }
            TRY_VOID(budget_.take(*field.access));
            TRY_VOID(element(field, field.access->append(memory), items, depth + 1));
        }
        return {};
    }

    Result<void> packed(const Field& field, void* memory, Reader& reader) {
        const protozero::data_view view = reader.get_view();
        const char* at = view.data();
        const char* const end = at + view.size();
        while (at < end) {
            void* item = field.access->append(memory);
            if (field.form == Form::Double) {
                if (end - at < static_cast<std::ptrdiff_t>(sizeof(double))) return malformed("truncated");
                std::memcpy(item, at, sizeof(double));
                at += sizeof(double);
            } else {
                store_varint(field.form, item, protozero::decode_varint(&at, end));
            }
        }
        return {};
    }

    Result<void> map_entry(const Field& field, void* memory, Reader& reader, int depth) {
        if (!is_message(reader)) return malformed("a map entry that is not a message");
        Reader entry(reader.get_view());
        std::string key;
        Reader value_reader;
        bool has_value = false;
        while (entry.next()) {
            if (entry.tag() == 1 && is_message(entry)) {
                key = text_of(entry);
            } else if (entry.tag() == 2 && !has_value) {
                value_reader = entry;  // read below, when the key is known
                has_value = true;
                entry.skip();
            } else {
                entry.skip();
            }
        }
        TRY_VOID(budget_.take(*field.access));
        void* value = field.access->insert(memory, std::move(key));
        return has_value ? element(field, value, value_reader, depth + 1) : Result<void>();
    }

    static void store_varint(Form form, void* memory, std::uint64_t value) {
        switch (form) {
            case Form::Bool:
                return store<bool>(memory, value != 0);
            case Form::Int32:
            case Form::Uint32:
            case Form::Enum:
                return store<std::uint32_t>(memory, static_cast<std::uint32_t>(value));
            default:
                return store<std::uint64_t>(memory, value);
        }
    }

    Result<void> element(const Field& field, void* memory, Reader& reader, int depth) {
        const WireType wanted = wants_varint(field.form)     ? WireType::varint
                                : field.form == Form::Double ? WireType::fixed64
                                                             : WireType::length_delimited;
        if (!reader.has_wire_type(wanted)) return malformed("field " + std::string(field.name) + " has the wrong wire type");
        if (wanted == WireType::varint) {
            store_varint(field.form, memory, reader.get_uint64());
            return {};
        }
        switch (field.form) {
            case Form::Double:
                store<double>(memory, reader.get_double());
                return {};
            case Form::String:
            case Form::Bytes:
                *static_cast<std::string*>(memory) = text_of(reader);
                return {};
            case Form::Quantity:
                return quantity(*static_cast<Quantity*>(memory), Reader(reader.get_view()));
            case Form::IntOrString:
                int_or_string(*static_cast<IntOrString*>(memory), Reader(reader.get_view()));
                return {};
            case Form::Time:
                time(*static_cast<Timestamp*>(memory), Reader(reader.get_view()));
                return {};
            case Form::MicroTime:
                time(*static_cast<MicroTimestamp*>(memory), Reader(reader.get_view()));
                return {};
            case Form::Duration:
                *static_cast<std::chrono::nanoseconds*>(memory) = std::chrono::nanoseconds(varint_in(Reader(reader.get_view()), 1));
                return {};
            case Form::Raw:
            case Form::Json:
            case Form::FieldsV1:
                return opaque(*static_cast<Value*>(memory), Reader(reader.get_view()));
            case Form::Struct:
                return structure(*field.type, memory, Reader(reader.get_view()), depth + 1);
            case Form::Nested:
                return wrapped(*field.element, memory, reader, depth + 1);
            default:
                return {};
        }
    }

    static std::string_view bytes_in(Reader reader, std::uint32_t number) {
        std::string_view found;
        while (reader.next()) {
            if (reader.tag() == number && is_message(reader))
                found = text_of(reader);
            else
                reader.skip();
        }
        return found;
    }

    static std::int64_t varint_in(Reader reader, std::uint32_t number) {
        std::int64_t found = 0;
        while (reader.next()) {
            if (reader.tag() == number && reader.has_wire_type(WireType::varint))
                found = reader.get_int64();
            else
                reader.skip();
        }
        return found;
    }

    static Result<void> quantity(Quantity& quantity, Reader reader) {
        const std::string_view text = bytes_in(reader, 1);
        if (text.empty()) return {};
        TRY(quantity, Quantity::parse(text));
        return {};
    }

    static void int_or_string(IntOrString& value, Reader reader) {
        if (varint_in(reader, 1) == 1)
            value = std::string(bytes_in(reader, 3));
        else
            value = static_cast<std::int32_t>(varint_in(reader, 2));
    }

    template <class Time>
    static void time(Time& value, Reader reader) {
        if (reader.length() == 0) return;
        constexpr std::int64_t GoZero = -62135596800, Latest = 253402300799;  // years 1 to 9999
        const std::int64_t seconds = varint_in(reader, 1), nanos = varint_in(reader, 2);
        if (seconds <= GoZero || seconds > Latest || nanos < 0 || nanos > 999'999'999) return;
        const std::int64_t ticks_per_second = Time::from_seconds(1).ticks();
        value = Time::from_ticks(seconds * ticks_per_second + nanos / (1'000'000'000 / ticks_per_second));
    }

    Result<void> opaque(Value& value, Reader reader) {
        const std::string_view bytes = bytes_in(reader, 1);
        if (bytes.empty()) return {};
        if (!has_envelope(bytes)) {
            TRY(value, parse_json(bytes));
            return {};
        }
        if (!registry_) return malformed("an embedded object where only JSON is expected");
        TRY(value, open_object(*registry_, bytes, envelopes_));
        return {};
    }

    const Registry* registry_;
    int envelopes_;  ///< around what is read
    DecodeBudget budget_;
};

Result<Envelope> read_envelope(Reader reader) {
    Envelope envelope;
    while (reader.next()) {
        if (!reader.has_wire_type(WireType::length_delimited)) {
            reader.skip();
            continue;
        }
        const std::uint32_t tag = reader.tag();
        const std::string_view bytes = text_of(reader);
        if (tag == 1) {
            Reader type_meta(bytes.data(), bytes.size());
            while (type_meta.next()) {
                const bool text = type_meta.has_wire_type(WireType::length_delimited);
                if (type_meta.tag() == 1 && text)
                    envelope.api_version = text_of(type_meta);
                else if (type_meta.tag() == 2 && text)
                    envelope.kind = text_of(type_meta);
                else
                    type_meta.skip();
            }
        } else if (tag == 2) {
            envelope.raw = bytes;
        } else if (tag == 3) {
            envelope.content_encoding = bytes;
        } else if (tag == 4) {
            envelope.content_type = bytes;
        }
    }
    return envelope;
}

/// Options and replies, such as DeleteOptions, go by every group and version but are declared once.
const Kind* find_enveloped_kind(const Registry& registry, const Envelope& envelope) {
    if (const Kind* kind = registry.find_kind(envelope.api_version, envelope.kind)) return kind;
    const Kind* common = registry.find_kind("v1", envelope.kind);
    return common && !common->is(Kind::Resource) && !common->is(Kind::List) && common->type->package->directory == "meta/v1" ? common
                                                                                                                             : nullptr;
}

Result<void> decode_message(const Type& type, void* object, std::string_view bytes, const Registry* registry, int envelopes,
                            DecodeBudget budget) {
    try {
        return Decoder(registry, envelopes, budget).structure(type, object, Reader(bytes.data(), bytes.size()), 0);
    } catch (const protozero::exception& error) {
        return malformed(error.what());
    }
}

Result<Value> open_object(const Registry& registry, std::string_view bytes, int envelopes) {
    if (envelopes == MostEnvelopes) return malformed("objects within objects too deeply");
    TRY(const Envelope envelope, open_envelope(bytes));
    const Kind* kind = find_enveloped_kind(registry, envelope);
    if (!kind || !kind->type->create) {
        return Error(Reason::BadRequest, "no kind \"" + envelope.kind + "\" is registered for version \"" + envelope.api_version + "\"");
    }
    Instance instance(*kind->type);
    TRY_VOID(decode_message(*kind->type, instance.get(), envelope.raw, &registry, envelopes + 1, DecodeBudget(DecodeBudget::OfRequest)));
    Value value = to_value(*kind, instance.get());
    value["apiVersion"] = envelope.api_version;
    return value;
}

}  // namespace

Result<void> decode_protobuf(const Type& type, void* object, std::string_view bytes, const Registry* registry) {
    return decode_message(type, object, bytes, registry, 0, DecodeBudget());
}

Result<Envelope> open_envelope(std::string_view bytes) {
    if (!has_envelope(bytes)) return malformed("the object does not start with its prefix");
    bytes.remove_prefix(4);
    try {
        return read_envelope(Reader(bytes.data(), bytes.size()));
    } catch (const protozero::exception& error) {
        return malformed(error.what());
    }
}

Result<Value> decode_enveloped(const Registry& registry, std::string_view bytes) { return open_object(registry, bytes, 0); }

}  // namespace porthole::schema
