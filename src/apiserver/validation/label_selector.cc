#include "apiserver/validation/label_selector.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "apiserver/validation/names.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

Error unparsable(const std::string& why) { return Error(Reason::BadRequest, "unable to parse requirement: " + why); }

/// The words and signs of a selector, one at a time.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::string_view peek() {
        skip_blanks();
        if (position_ == text_.size()) return {};
        return text_.substr(position_, token_length());
    }
    std::string_view take() {
        const std::string_view token = peek();
        position_ += token.size();
        return token;
    }
    /// Like take(), for a value: "in" and "notin" are plain words there, and a sign means that the value is empty.
    std::string_view take_value() {
        const std::string_view token = peek();
        if (token == "," || token == ")" || token.empty()) return {};
        return take();
    }
    bool at_end() { return peek().empty(); }

private:
    static bool is_sign(char c) { return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '<' || c == '>'; }
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
    void skip_blanks() {
        while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
    }
    std::size_t token_length() const {
        const char c = text_[position_];
        if (is_sign(c)) {
            const bool pair = (c == '=' || c == '!') && text_.substr(position_ + 1).starts_with('=');
            return pair ? 2 : 1;
        }
        std::size_t end = position_;
        while (end < text_.size() && !is_sign(text_[end]) && !is_blank(text_[end])) ++end;
        return end - position_;
    }
    std::string_view text_;
    std::size_t position_ = 0;
};

bool is_word(std::string_view token) { return !token.empty() && !std::string_view("=!(),<>").contains(token.front()); }

std::string found_expected(std::string_view found, std::string_view expected) {
    return "found '" + std::string(found) + "', expected: " + std::string(expected);
}

/// What is wrong between requirements.
Error misplaced(std::string_view found, std::string_view expected) { return Error(Reason::BadRequest, found_expected(found, expected)); }

Result<std::vector<std::string>> parse_value_set(Scanner& scanner) {
    if (const auto token = scanner.take(); token != "(") return unparsable("found '" + std::string(token) + "' expected: '('");
    std::vector<std::string> values;
    while (true) {
        values.emplace_back(scanner.take_value());
        const std::string_view separator = scanner.take();
        if (separator == ")") break;
        if (separator != ",") return unparsable(found_expected(separator, "',', or ')'"));
    }
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    return values;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

Result<void> check(const Requirement& requirement) {
    if (const auto errors = names::check_qualified_name(requirement.key); !errors.empty())
        return unparsable("key: Invalid value: \"" + requirement.key + "\": " + errors.front());
    for (std::size_t i = 0; i < requirement.values.size(); ++i) {
        const std::string& value = requirement.values[i];
        const std::string path = "values[" + std::to_string(i) + "][" + requirement.key + "]";
        if (const auto errors = names::check_label_value(value); !errors.empty())
            return unparsable(path + ": Invalid value: \"" + value + "\": " + errors.front());
        const bool ordered = requirement.operation == Operator::GreaterThan || requirement.operation == Operator::LessThan;
        if (ordered && !parse_integer(value))
            return unparsable(path + ": Invalid value: \"" + value + "\": for 'Gt', 'Lt' operators, the value must be an integer");
    }
    return {};
}

Result<Requirement> parse_requirement(Scanner& scanner) {
    Requirement requirement;
    std::string_view token = scanner.take();
    if (token == "!") {
        token = scanner.take();
        if (!is_word(token)) return unparsable(found_expected(token, "identifier"));
        requirement.operation = Operator::DoesNotExist;
        requirement.key = token;
        return requirement;
    }
    if (!is_word(token)) return misplaced(token, "!, identifier, or 'end of string'");
    requirement.key = token;
    token = scanner.peek();
    if (token.empty() || token == ",") return requirement;
    scanner.take();
    if (token == "in" || token == "notin") {
        requirement.operation = token == "in" ? Operator::In : Operator::NotIn;
        TRY(requirement.values, parse_value_set(scanner));
        return requirement;
    }
    if (token == "=" || token == "==") {
        requirement.operation = Operator::In;
        requirement.sign = token == "=" ? "=" : "==";
    } else if (token == "!=") {
        requirement.operation = Operator::NotIn;
        requirement.sign = "!=";
    } else if (token == ">") {
        requirement.operation = Operator::GreaterThan;
    } else if (token == "<") {
        requirement.operation = Operator::LessThan;
    } else {
        return unparsable(found_expected(token, "in, notin, =, ==, !=, gt, lt"));
    }
    requirement.values.emplace_back(scanner.take_value());
    return requirement;
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
    Scanner scanner(text);
    std::vector<Requirement> requirements;
    while (!scanner.at_end()) {
        TRY(Requirement requirement, parse_requirement(scanner));
        TRY_VOID(check(requirement));
        requirements.push_back(std::move(requirement));
        const std::string_view separator = scanner.take();
        if (separator.empty()) break;
        if (separator != ",") return misplaced(separator, "',' or 'end of string'");
        if (const auto next = scanner.peek(); next != "!" && !is_word(next)) return misplaced(next, "identifier after ','");
    }
    return LabelSelector(std::move(requirements));
}

LabelSelector LabelSelector::from(const api::meta::v1::LabelSelector& selector) {
    std::vector<Requirement> requirements;
    for (const auto& [key, value] : selector.match_labels) requirements.push_back({key, Operator::In, {value}, "="});
    for (const auto& expression : selector.match_expressions) {
        const std::string& operation = expression.operator_;
        Requirement requirement{expression.key, Operator::In, {}};
        if (operation == "In") requirement = {expression.key, Operator::In, expression.values};
        if (operation == "NotIn") requirement = {expression.key, Operator::NotIn, expression.values};
        if (operation == "Exists") requirement.operation = Operator::Exists;
        if (operation == "DoesNotExist") requirement.operation = Operator::DoesNotExist;
        requirements.push_back(std::move(requirement));
    }
    return LabelSelector(std::move(requirements));
}

bool LabelSelector::matches(const Labels& labels) const {
    return matches_by([&](const std::string& key) -> const std::string* {
        const auto found = labels.find(key);
        return found == labels.end() ? nullptr : &found->second;
    });
}

std::string to_string(const LabelSelector& selector) {
    std::multimap<std::string_view, const Requirement*> by_key;  // those of one key in their order: the text of the text is the same
    for (const Requirement& requirement : selector.requirements()) by_key.emplace(requirement.key, &requirement);
    std::string text;
    for (const auto& [key, of_key] : by_key) {
        const Requirement& requirement = *of_key;
        if (!text.empty()) text += ',';
        std::vector<std::string> sorted = requirement.values;
        std::ranges::sort(sorted);
        const std::string values = join(sorted, ",");
        switch (requirement.operation) {
            case Operator::In:
            case Operator::NotIn:
                if (requirement.sign.empty()) {
                    text += requirement.key + (requirement.operation == Operator::In ? " in (" : " notin (") + values + ")";
                } else {
                    text.append(requirement.key).append(requirement.sign).append(values);
                }
                break;
            case Operator::Exists:
                text += requirement.key;
                break;
            case Operator::DoesNotExist:
                text += "!" + requirement.key;
                break;
            case Operator::GreaterThan:
                text += requirement.key + ">" + values;
                break;
            case Operator::LessThan:
                text += requirement.key + "<" + values;
                break;
        }
    }
    return text;
}

}  // namespace porthole::apiserver
