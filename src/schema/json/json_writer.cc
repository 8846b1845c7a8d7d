#include <algorithm>
#include <chrono>

#include "base/base64.h"
#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/access.h"
#include "schema/compare.h"
#include "schema/json/json.h"
#include "schema/json/json_struct_writer.h"
#include "schema/scalar.h"
#include "schema/scalars.h"

namespace porthole::schema {
namespace {

/// The length of the UTF-8 character at the start, 0 where there is none.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned first = byte(0), second = byte(1);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool overlong = first == 0xF0 && second < 0x90, beyond = first == 0xF4 && second > 0x8F;
        return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

void append_escaped(char c, std::string& out) {
    static constexpr char hex[] = "0123456789abcdef";
    switch (c) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            out += "\\u00";
            out += hex[(c >> 4) & 15];
            out += hex[c & 15];
    }
}

class StructWriter {
public:
    explicit StructWriter(std::string& out) : out_(out) {}

    void write(const Type& type, const void* object) {
        if (type.is(Type::Alternatives)) return write_tree(to_value(type, object));
        begin('{');
        bool first = true;
        members(type, object, first);
        end('}');
    }

    /// An object with apiVersion and kind, and managedFields in its metadata if there are any.
    void write(const Kind& kind, const void* object, std::string_view managed_fields) {
        begin('{');
        out_.append("\"apiVersion\":\"").append(kind.api_version()).append("\",\"kind\":\"").append(kind.kind) += '"';
        managed_fields_ = managed_fields;
        bool first = false;
        members(*kind.type, object, first);
        end('}');
    }

    /// The depth of what has been written, without managedFields.
    std::size_t deepest() const { return deepest_; }

private:
    void members(const Type& type, const void* object, bool& first) {
        for (const Field& field : type.fields) {
            const void* memory = member(object, field.offset);
            if (field.is(Field::OmitEmpty) && member_is_absent(field, memory)) continue;
            out_ += first ? "\"" : ",\"";
            out_ += field.name;  // needs no escaping
            out_ += "\":";
            first = false;
            write_member(field, memory);
            if (!managed_fields_.empty() && depth_ == 1 && field.name == "metadata") add_managed_fields();
        }
    }

    void add_managed_fields() {
        out_.pop_back();
        if (out_.back() != '{') out_ += ',';
        out_.append("\"managedFields\":").append(managed_fields_) += '}';
    }

    void write_member(const Field& field, const void* memory) {
        if (field.is_list()) return list(field, memory);
        if (field.is_map()) return map(field, memory);
        if (!field.access) return element(field, memory);
        const void* value = field.access->get(memory);
        if (value)
            element(field, value);
        else
            out_ += "null";
    }

    void list(const Field& field, const void* memory) {
        begin('[');
        const std::size_t size = field.access->size(memory);
        for (std::size_t i = 0; i < size; ++i) {
            if (i > 0) out_ += ',';
            element(field, field.access->get_at(memory, i));
        }
        end(']');
    }

    void map(const Field& field, const void* memory) {
        struct Context {
            StructWriter& writer;
            const Field& field;
            bool first;
        } context{*this, field, true};
        begin('{');
        field.access->visit(memory, &context, [](void* raw, const std::string& key, const void* value) {
            auto& [writer, field, first] = *static_cast<Context*>(raw);
            if (!first) writer.out_ += ',';
            first = false;
            append_json_string(key, writer.out_);
            writer.out_ += ':';
            writer.element(field, value);
            return true;
        });
        end('}');
    }

    void element(const Field& field, const void* memory) {
        switch (field.form) {
            case Form::Struct:
                return write(*field.type, memory);
            case Form::Nested:
                return write_member(*field.element, memory);
            case Form::Bool:
                out_ += load<bool>(memory) ? "true" : "false";
                return;
            case Form::Int32:
            case Form::Enum:
                return append_integer(load<std::int32_t>(memory), out_);
            case Form::Int64:
                return append_integer(load<std::int64_t>(memory), out_);
            case Form::String:
                return append_json_string(*static_cast<const std::string*>(memory), out_);
            case Form::Quantity:
                return append_json_string(static_cast<const Quantity*>(memory)->to_string(), out_);
            case Form::Raw:
            case Form::Json:
            case Form::FieldsV1:
                return write_tree(*static_cast<const Value*>(memory));
            default:
                return append_json(scalar_to_value(field.form, memory), out_);
        }
    }

    void write_tree(const Value& value) {
        deepest_ = std::max(deepest_, depth_ + depth_of(value));
        append_json(value, out_);
    }

    void begin(char bracket) {
        out_ += bracket;
        deepest_ = std::max(deepest_, ++depth_);
    }
    void end(char bracket) {
        out_ += bracket;
        --depth_;
    }

    std::string& out_;
    std::string_view managed_fields_;
    std::size_t depth_ = 0, deepest_ = 0;
};

/// Whether eight characters all stand for themselves in a JSON string: none below a space, none beyond ASCII, no quote, no backslash.
bool is_plain(const char* text) {
    const auto characters = load<std::uint64_t>(text);
    constexpr std::uint64_t Each = 0x0101010101010101, High = 0x80 * Each;
    const auto has_zero = [](std::uint64_t bytes) { return (bytes - Each) & ~bytes; };
    const std::uint64_t below_space = (characters - 0x20 * Each) & ~characters;
    return ((characters | below_space | has_zero(characters ^ '"' * Each) | has_zero(characters ^ '\\' * Each)) & High) == 0;
}

/// Whether the text is written as it is: most keys and values are.
bool is_all_plain(std::string_view text) {
    constexpr std::size_t Step = sizeof(std::uint64_t);
    if (text.size() < Step)
        return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; });
    for (std::size_t i = 0; i + Step <= text.size(); i += Step)
        if (!is_plain(text.data() + i)) return false;
    return is_plain(text.data() + text.size() - Step);
}

void append_pretty(const Value& value, int indent, int level, std::string& out) {
    const auto line = [&](int depth) {
        out += '\n';
        out.append(static_cast<std::size_t>(depth * indent), ' ');
    };
    if (value.is_array() && !value.as_array().empty()) {
        char separator = '[';
        for (const Value& item : value.as_array()) {
            out += std::exchange(separator, ',');
            line(level + 1);
            append_pretty(item, indent, level + 1, out);
        }
        line(level);
        out += ']';
    } else if (value.is_object() && !value.as_object().empty()) {
        char separator = '{';
        for (const Member& entry : value.as_object()) {
            out += std::exchange(separator, ',');
            line(level + 1);
            append_json_string(entry.key, out);
            out += ": ";
            append_pretty(entry.value, indent, level + 1, out);
        }
        line(level);
        out += '}';
    } else {
        append_json(value, out);
    }
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
    if (is_all_plain(text)) {
        const std::size_t begin = out.size(), end = begin + text.size() + 2;
        out.resize_and_overwrite(end, [&](char* all, std::size_t) {  // which libstdc++ 12 tells the capacity
            all[begin] = all[end - 1] = '"';
            text.copy(all + begin + 1, text.size());
            return end;
        });
        return;
    }
    out += '"';
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
        while (i + sizeof(std::uint64_t) <= text.size() && is_plain(text.data() + i)) i += sizeof(std::uint64_t);
        if (i == text.size()) break;
        const unsigned char c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            ++i;
            continue;
        }
        const std::size_t length = c < 0x80 ? 0 : utf8_length(text.substr(i));
        if (length > 0) {
            i += length;
            continue;
        }
        out.append(text, plain, i - plain);
        if (c < 0x80)
            append_escaped(static_cast<char>(c), out);
        else
            out += "\xEF\xBF\xBD";
        plain = ++i;
    }
    out.append(text, plain, text.size() - plain);
    out += '"';
}

void append_json(const Value& value, std::string& out) {
    if (value.is_null()) {
        out += "null";
    } else if (value.is_bool()) {
        out += value.as_bool() ? "true" : "false";
    } else if (value.is_number()) {
        append_number(value, out);
    } else if (value.is_string()) {
        append_json_string(value.as_string(), out);
    } else if (value.is_array()) {
        char separator = '[';
        for (const Value& item : value.as_array()) {
            out += std::exchange(separator, ',');
            append_json(item, out);
        }
        out += separator == '[' ? "[]" : "]";
    } else {
        char separator = '{';
        for (const Member& entry : value.as_object()) {
            out += std::exchange(separator, ',');
            append_json_string(entry.key, out);
            out += ':';
            append_json(entry.value, out);
        }
        out += separator == '{' ? "{}" : "}";
    }
}

std::string to_json(const Value& value) {
    std::string out;
    append_json(value, out);
    return out;
}

std::string to_pretty_json(const Value& value, int indent) {
    std::string out;
    append_pretty(value, indent, 0, out);
    return out;
}

void append_json(const Type& type, const void* object, std::string& out) { StructWriter(out).write(type, object); }

void append_json(const Kind& kind, const void* object, std::string& out) { append_json(kind, object, {}, out); }

std::size_t append_json(const Kind& kind, const void* object, std::string_view managed_fields, std::string& out) {
    StructWriter writer(out);
    writer.write(kind, object, managed_fields);
    return writer.deepest();
}

}  // namespace porthole::schema
