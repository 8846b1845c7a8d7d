#include "base/flag_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/closest_word.h"
#include "base/strings.h"

namespace porthole {
namespace {

std::string with_dashes(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::optional<bool> parse_bool(const std::string& text) {
    for (const char* yes : {"true", "True", "TRUE", "t", "T", "1"})
        if (text == yes) return true;
    for (const char* no : {"false", "False", "FALSE", "f", "F", "0"})
        if (text == no) return false;
    return std::nullopt;
}

}  // namespace

void FlagSet::add(const std::string& name, Take take, std::string help) {
    const bool is_new = flags_.try_emplace(name, Flag{std::move(take), false, std::move(help), ""}).second;
    CHECK(is_new);
}

void FlagSet::add(const std::string& name, std::string& target, std::string help) {
    add(name, Take([&target](const std::string& value) -> Result<void> {
            target = value;
            return {};
        }),
        std::move(help));
}

void FlagSet::add(const std::string& name, bool& target, std::string help) {
    add(name, Take([&target](const std::string& value) -> Result<void> {
            const auto parsed = parse_bool(value);
            if (!parsed) return Error(Reason::BadRequest, "must be true or false");
            target = *parsed;
            return {};
        }),
        std::move(help));
    flags_[name].is_switch = true;
}

void FlagSet::add(const std::string& name, std::int64_t& target, std::string help) {
    add(name, Take([&target](const std::string& value) -> Result<void> {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
            if (error != std::errc() || end != value.data() + value.size() || value.empty())
                return Error(Reason::BadRequest, "must be a whole number");
            target = number;
            return {};
        }),
        std::move(help));
}

void FlagSet::add(const std::string& name, std::vector<std::string>& target, std::string help) {
    add(name, Take([this, name, &target](const std::string& value) -> Result<void> {
            if (!given_.contains(name)) target.clear();  // what stood there were defaults
            for (std::string& part : split_list(value)) target.push_back(std::move(part));
            return {};
        }),
        std::move(help));
}

void FlagSet::add(const std::string& name, std::map<std::string, std::string>& target, std::string help) {
    add(name, Take([this, name, &target](const std::string& value) -> Result<void> {
            if (!given_.contains(name)) target.clear();
            for (const std::string& part : split_list(value)) {
                const std::size_t equals = part.find('=');
                if (equals == 0) return Error(Reason::BadRequest, "\"" + part + "\" has no key");
                target[std::string(trim(part.substr(0, equals), " "))] =
                    equals == part.npos ? "" : std::string(trim(part.substr(equals + 1), " "));
            }
            return {};
        }),
        std::move(help));
}

void FlagSet::add_ignored(const std::string& name, std::string why) {
    add(name, Take([](const std::string&) -> Result<void> { return {}; }), "");
    flags_[name].ignored = std::move(why);
}

void FlagSet::add_ignored_switch(const std::string& name, std::string why) {
    add_ignored(name, std::move(why));
    flags_[name].is_switch = true;
}

void FlagSet::add_alias(const std::string& alias, const std::string& name) { aliases_[alias] = name; }

Result<void> FlagSet::parse(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (!word.starts_with('-') || word.find_first_not_of('-') == word.npos)
            return Error(Reason::BadRequest, "unexpected argument \"" + word + "\"; write values as --name=value");
        const std::size_t begin = word.find_first_not_of('-'), equals = word.find('=');
        std::string name = with_dashes(word.substr(begin, equals == word.npos ? word.npos : equals - begin));
        if (const auto alias = aliases_.find(name); alias != aliases_.end()) name = alias->second;
        const auto found = flags_.find(name);
        if (found == flags_.end()) return Error(Reason::BadRequest, "unknown flag --" + name + suggestion(name));
        const Flag& flag = found->second;
        std::string value = "true";
        if (equals != word.npos) {
            value = word.substr(equals + 1);
        } else if (!flag.is_switch) {
            if (++i == arguments.size()) return Error(Reason::BadRequest, "flag --" + name + " needs a value: --" + name + "=…");
            value = arguments[i];
        }
        if (!flag.ignored.empty()) warnings_.push_back("flag --" + name + " has no effect: " + flag.ignored);
        if (auto taken = flag.take(value); !taken)
            return Error(Reason::BadRequest, "invalid value \"" + value + "\" for --" + name + ": " + taken.error().message);
        given_.insert(name);
    }
    return {};
}

std::string FlagSet::suggestion(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& [flag, any] : flags_) known.push_back(flag);
    const std::string best = closest_word(name, known);
    return best.empty() ? "; --help lists the flags" : "; did you mean --" + best + "?";
}

std::string FlagSet::help() const {
    std::string text;
    for (const auto& [name, flag] : flags_) {
        if (!flag.ignored.empty()) continue;
        std::string line = "  --" + name + (flag.is_switch ? "" : " VALUE");
        line.resize(std::max<std::size_t>(line.size() + 2, 40), ' ');
        text += line + flag.help + "\n";
    }
    return text;
}

}  // namespace porthole
