#include "hns/assumptions/expectation.h"

#include <algorithm>
#include <string_view>

#include "hns/guid.h"

namespace porthole::hns {
namespace {

using schema::Value;

/// "00-15-5D-0A-09-03"
bool is_mac(std::string_view text) {
    if (text.size() != 17) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (i % 3 == 2 ? c != '-' : !is_digit) return false;
    }
    return true;
}

bool is_form(std::string_view text) { return text == "<any>" || text == "<guid>" || text == "<mac>"; }

bool has_form(std::string_view form, const Value& found) {
    if (form == "<any>") return !found.is_null() && !(found.is_string() && found.as_string().empty());
    if (!found.is_string()) return false;
    return form == "<guid>" ? is_guid(found.as_string()) : is_mac(found.as_string());
}

bool is_empty(const Value& value) { return value.is_null() || (value.is_array() && value.as_array().empty()); }

bool shows_all(const schema::Array& expected, const Value& found) {
    if (expected.empty()) return is_empty(found);
    if (!found.is_array()) return false;
    return std::ranges::all_of(expected, [&](const Value& item) {
        return std::ranges::any_of(found.as_array(), [&](const Value& there) { return shows(item, there); });
    });
}

}  // namespace

bool shows(const Value& expected, const Value& found) {
    if (expected.is_object()) {
        if (!found.is_object()) return false;
        return std::ranges::all_of(expected.as_object(),
                                   [&](const schema::Member& member) { return shows(member.value, schema::at(found, member.key)); });
    }
    if (expected.is_array()) return shows_all(expected.as_array(), found);
    if (!expected.is_string()) return expected == found;
    if (is_form(expected.as_string())) return has_form(expected.as_string(), found);
    if (!found.is_string()) return false;
    return expected.as_string() == found.as_string() ||
           (is_guid(expected.as_string()) && same_guid(expected.as_string(), found.as_string()));
}

Value observed(const Value& expected, const Value& found) {
    if (shows(expected, found)) return expected;
    if (expected.is_object() && found.is_object()) {
        Value reduced = Value::object();
        for (const schema::Member& member : expected.as_object())
            reduced.as_object().append(member.key, observed(member.value, schema::at(found, member.key)));
        return reduced;
    }
    if (expected.is_array() && !expected.as_array().empty() && found.is_array()) {
        Value reduced = Value::array();
        for (const Value& item : found.as_array()) reduced.as_array().push_back(observed(expected.as_array().front(), item));
        return reduced;
    }
    return found;
}

}  // namespace porthole::hns
