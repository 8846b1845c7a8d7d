#include "winhost/hives/hive_merge.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "base/strings.h"

namespace porthole::winhost {
namespace {

constexpr std::string_view MachineEnvironment = "system\\currentcontrolset\\control\\session manager\\environment";
constexpr std::string_view UserEnvironment = "environment";
constexpr std::string_view Services = "system\\currentcontrolset\\services\\";

/// Keys that are left out with everything below them.
constexpr std::string_view LeftOut[] = {
    "software\\wine",
    "system\\currentcontrolset\\control\\class",
    "system\\currentcontrolset\\control\\deviceclasses",
    "system\\currentcontrolset\\enum",
    "volatile environment",
};
/// Programs in them are started by Wine with every container; Windows starts them when somebody logs on, which nobody does in a container.
constexpr std::string_view StartKeys[] = {"run", "runonce", "runonceex", "runservices", "runservicesonce"};
constexpr std::string_view StartKeysAbove[] = {"software\\microsoft\\windows\\currentversion\\",
                                               "software\\wow6432node\\microsoft\\windows\\currentversion\\"};
/// Environment variables of the machine on which the image was built, and folders that Wine has elsewhere.
constexpr std::string_view OwnVariables[] = {"number_of_processors",
                                             "processor_architecture",
                                             "processor_identifier",
                                             "processor_level",
                                             "processor_revision",
                                             "temp",
                                             "tmp",
                                             "username",
                                             "winsysdir"};

constexpr std::uint32_t String = 1, ExpandableString = 2, Binary = 3, Number = 4;

bool is_in(const auto& list, std::string_view text) { return std::ranges::find(list, text) != std::ranges::end(list); }

void append_unit(std::string& text, char16_t unit) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%04x", static_cast<unsigned>(unit));
    text += escaped;
}

/// As Wine writes it: `specials` are escaped by a backslash, everything beyond printable ASCII by its number.
std::string written(std::u16string_view name, std::u16string_view specials) {
    std::string text;
    for (const char16_t unit : name) {
        if (unit < u' ' || unit > u'~') {
            append_unit(text, unit);
            continue;
        }
        if (unit == u'\\' || specials.contains(unit)) text += '\\';
        text += static_cast<char>(unit);
    }
    return text;
}

std::string key_text(std::u16string_view name) { return written(name, u"[]"); }

/// How the line of a value begins.
std::string line_start(std::u16string_view name) { return name.empty() ? "@=" : "\"" + written(name, u"\"") + "\"="; }

/// The same of a line of the file: up to the quote that ends the name. "" for lines of other kinds, such as "#time".
std::string start_of(std::string_view line) {
    if (line.starts_with("@=")) return "@=";
    if (!line.starts_with('"')) return "";
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
        if (line[i] == '\\') {
            ++i;
        } else if (line[i] == '"') {
            return line[i + 1] == '=' ? std::string(line.substr(0, i + 2)) : "";
        }
    }
    return "";
}

/// The text of REG_SZ and REG_EXPAND_SZ, if its only NUL is at its end.
std::optional<std::u16string> plain_text(std::string_view data) {
    if (data.size() < 2 || data.size() % 2 != 0) return std::nullopt;
    std::u16string text;
    for (std::size_t i = 0; i < data.size(); i += 2)
        text.push_back(static_cast<char16_t>(static_cast<unsigned char>(data[i]) | static_cast<unsigned char>(data[i + 1]) << 8U));
    if (text.find(u'\0') != text.size() - 1) return std::nullopt;
    text.pop_back();
    return text;
}

std::string value_text(const HiveValue& value) {
    if (value.type == String || value.type == ExpandableString) {
        if (const auto text = plain_text(value.data)) return (value.type == String ? "\"" : "str(2):\"") + written(*text, u"\"") + "\"";
    }
    if (value.type == Number && value.data.size() == 4) {
        std::uint32_t number = 0;
        for (std::size_t i = 4; i > 0; --i) number = number << 8U | static_cast<unsigned char>(value.data[i - 1]);
        return RegistryFile::number(number);
    }
    std::string text = "hex:";
    if (value.type != Binary) {
        char head[16];
        std::snprintf(head, sizeof head, "hex(%x):", value.type);
        text = head;
    }
    constexpr std::string_view Digits = "0123456789abcdef";
    for (const char byte : value.data) {
        const auto bits = static_cast<unsigned char>(byte);
        text += {Digits[bits >> 4U], Digits[bits & 15U], ','};
    }
    if (text.ends_with(',')) text.pop_back();
    return text;
}

const HiveValue* find_value(const HiveKey& key, std::u16string_view lower_name) {
    const auto found = std::ranges::find_if(
        key.values, [&](const HiveValue& value) { return to_lower(written(value.name, u"")) == written(lower_name, u""); });
    return found == key.values.end() ? nullptr : &*found;
}

/// Drivers, and services that are parts of a process of Windows'.
bool is_for_windows_alone(const HiveKey& service) {
    constexpr unsigned Drivers = 0xf;
    if (const HiveValue* type = find_value(service, u"type"); type && type->data.size() == 4 && (type->data[0] & Drivers) != 0) return true;
    const HiveValue* program = find_value(service, u"imagepath");
    const auto path = program ? plain_text(program->data) : std::nullopt;
    return path && to_lower(written(*path, u"")).contains("svchost");
}

bool is_at_or_below(std::string_view path, std::string_view above) {
    return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '\\');
}

bool is_start_key(std::string_view path) {
    return std::ranges::any_of(
        StartKeysAbove, [&](std::string_view above) { return path.starts_with(above) && is_in(StartKeys, path.substr(above.size())); });
}

/// The values of the file's lines by their start in lower case.
std::map<std::string, std::string> values_of(const std::vector<std::string>& lines) {
    std::map<std::string, std::string> values;
    for (const std::string& line : lines)
        if (const std::string start = start_of(line); !start.empty()) values.emplace(to_lower(start), line);
    return values;
}

/// Whether an image may set the value, whose line begins so, if Wine has it and if not.
bool is_taken(std::string_view key, const std::string& start, bool wine_has_it) {
    if (key != MachineEnvironment && key != UserEnvironment) return !wine_has_it;
    return std::ranges::none_of(OwnVariables, [&](std::string_view name) { return start == "\"" + std::string(name) + "\"="; });
}

}  // namespace

HiveMerge::HiveMerge(RegistryFile own) : own_(std::move(own)) {
    for (std::size_t i = 0; i < own_.keys().size(); ++i) own_keys_.emplace(to_lower(own_.keys()[i].path), i);
}

const HiveMerge::Key* HiveMerge::own_key(const std::string& path) const {
    const auto found = own_keys_.find(to_lower(path));
    return found == own_keys_.end() ? nullptr : &own_.keys()[found->second];
}

Result<void> HiveMerge::add(HivePlace place, const HiveKey& hive) {
    switch (place) {
        case HivePlace::Software:
            return add_below({"Software", "software"}, hive);
        case HivePlace::User:
            return add_below({}, hive);
        case HivePlace::System:
            break;
    }
    // Which control set is current is told by the key Select; in images it is always the first one. The link that Windows calls
    // CurrentControlSet is not in the file.
    for (const HiveKey& set : hive.keys) {
        if (to_lower(key_text(set.name)) == "controlset001")
            return add_below({"System\\\\CurrentControlSet", "system\\currentcontrolset"}, set);
    }
    return {};
}

Result<void> HiveMerge::count(std::size_t bytes) {
    added_ += bytes;
    return added_ <= most_bytes ? Result<void>() : Error(Reason::Invalid, "the registry hives of the image are too large");
}

Result<void> HiveMerge::add_below(const Place& place, const HiveKey& key) {
    std::set<std::string> done;  // names are unique in hives that Windows has written
    for (const HiveKey& child : key.keys) {
        const std::string name = key_text(child.name);
        if (!done.insert(to_lower(name)).second) continue;
        const bool is_root = place.written.empty();
        TRY_VOID(add_key(
            {own_.resolved(is_root ? name : place.written + "\\\\" + name), (is_root ? "" : place.plain + "\\") + to_lower(name)}, child));
    }
    return {};
}

bool HiveMerge::is_left_out(const Place& place, const HiveKey& key) const {
    if (key.is_link || is_start_key(place.plain)) return true;
    if (std::ranges::any_of(LeftOut, [&](std::string_view path) { return is_at_or_below(place.plain, path); })) return true;
    const bool is_service = place.plain.starts_with(Services) && !place.plain.substr(Services.size()).contains('\\');
    return is_service && (own_key(place.written) || is_for_windows_alone(key));
}

Result<void> HiveMerge::add_key(const Place& place, const HiveKey& key) {
    using Layering = HiveKey::Layering;
    TRY_VOID(count(place.written.size()));
    if (is_left_out(place, key)) return {};
    const std::string path = to_lower(place.written);
    if (key.layering == Layering::Tombstone || key.layering == Layering::SupersedeTree) {
        // All that layers have added there; what is Wine's shows again.
        changed_.erase(path);
        const std::string below = path + "\\\\";
        const auto first = changed_.lower_bound(below);
        changed_.erase(first, std::find_if(first, changed_.end(), [&](const auto& one) { return !one.first.starts_with(below); }));
        if (key.layering == Layering::Tombstone) return {};
    }
    TRY_VOID(add_values(place, key));
    return add_below(place, key);
}

Result<void> HiveMerge::add_values(const Place& place, const HiveKey& key) {
    const std::string path = to_lower(place.written);
    const Key* own = own_key(place.written);
    if (own && is_in(own->lines, "#link")) return {};
    if (own && key.values.empty() && key.layering != HiveKey::Layering::SupersedeValues) return {};
    const auto own_values = own ? values_of(own->lines) : std::map<std::string, std::string>();
    const auto before = changed_.find(path);
    const bool keeps = before != changed_.end() && key.layering != HiveKey::Layering::SupersedeValues;
    auto values = keeps ? values_of(before->second.lines) : own_values;
    for (const HiveValue& value : key.values) {
        const std::string start = to_lower(line_start(value.name));
        const auto owned = own_values.find(start);
        if (value.is_tombstone) {
            values.erase(start);
            if (owned != own_values.end()) values.insert(*owned);
        } else if (is_taken(place.plain, start, owned != own_values.end())) {
            std::string line = line_start(value.name) + value_text(value);
            TRY_VOID(count(line.size()));
            values[start] = std::move(line);
        }
    }
    Key changed = before != changed_.end() ? before->second : own ? *own : Key{place.written, "[" + place.written + "] 1", {}};
    std::erase_if(changed.lines, [](const std::string& line) { return !start_of(line).empty(); });
    for (auto& [start, line] : values) changed.lines.push_back(std::move(line));
    changed_.insert_or_assign(path, std::move(changed));
    return {};
}

std::string HiveMerge::text() const {
    std::vector<Key> keys = own_.keys();
    for (const auto& [path, key] : changed_) {
        const auto own = own_keys_.find(path);
        if (own == own_keys_.end()) {
            keys.push_back(key);
        } else {
            keys[own->second] = key;
        }
    }
    RegistryFile merged = own_;
    merged.replace_keys(std::move(keys));
    return merged.text();
}

}  // namespace porthole::winhost
