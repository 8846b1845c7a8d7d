// Functions of the language on texts, bytes and sizes, and Kubernetes' functions with patterns.
#include "cel/library/libraries.h"
#include "cel/library/text_search.h"

namespace porthole::cel::texts_library {
namespace {

using Arguments = std::span<const Value>;

Value size(Arguments a) { return Value::integer(static_cast<std::int64_t>(a[0].size().value_or(0))); }
Value contains(Arguments a) {
    const std::string_view text = a[0].as_text(), wanted = a[1].as_text();
    return Value::boolean(wanted.empty() || TextSearch<char>(wanted).first(text, 0));
}
Value starts_with(Arguments a) { return Value::boolean(a[0].as_text().starts_with(a[1].as_text())); }
Value ends_with(Arguments a) { return Value::boolean(a[0].as_text().ends_with(a[1].as_text())); }

template <const char* Function>
Value with_pattern(Arguments a, Work& work) {
    const auto pattern = Regex::compile(a[1].as_text());
    look_at_pattern(pattern, work);
    if (work.is_used_up()) return {};
    if (!pattern) return Value::error((std::string_view(Function) == "matches" ? "" : "Illegal regex: ") + pattern.error().message);
    return call_with_pattern(Function, *pattern, a, work);
}
constexpr char Matches[] = "matches", Find[] = "find", FindAll[] = "findAll";

constexpr LibraryFunction Table[] = {
    {"size_bytes = size(bytes) -> int", size},
    {"bytes_size = bytes.size() -> int", size},
    {"size_list = size(list(A)) -> int", size},
    {"list_size = list(A).size() -> int", size},
    {"size_map = size(map(A, B)) -> int", size},
    {"map_size = map(A, B).size() -> int", size},
    {"size_string = size(string) -> int", size},
    {"string_size = string.size() -> int", size},
    {"contains_string = string.contains(string) -> bool", contains},
    {"ends_with_string = string.endsWith(string) -> bool", ends_with},
    {"starts_with_string = string.startsWith(string) -> bool", starts_with},
    {"matches = matches(string, string) -> bool", with_pattern<Matches>},
    {"matches_string = string.matches(string) -> bool", with_pattern<Matches>},
};
constexpr LibraryFunction Regexes[] = {
    {"string_find_string = string.find(string) -> string", with_pattern<Find>},
    {"string_find_all_string = string.findAll(string) -> list(string)", with_pattern<FindAll>},
    {"string_find_all_string_int = string.findAll(string, int) -> list(string)", with_pattern<FindAll>},
};

}  // namespace
}  // namespace porthole::cel::texts_library

namespace porthole::cel {

void look_at_pattern(const Result<Regex>& pattern, Work& work) {
    constexpr std::size_t InstructionsInStep = 8;
    work.look((pattern ? pattern->size() : Regex::MostInstructions) / InstructionsInStep);
}

Value call_with_pattern(std::string_view function, const Regex& pattern, std::span<const Value> a, Work& work) {
    if (function == texts_library::Matches) return Value::boolean(pattern.search(a[0].as_text()));
    if (function == texts_library::Find) {
        const auto found = pattern.find(a[0].as_text());
        return Value::string(std::string(found.value_or(std::string_view())));
    }
    if (a.size() > 2 && !a[2].is(Kind::Int)) return Value::no_such_overload();
    std::int64_t left = a.size() > 2 ? a[2].as_int() : -1;
    std::vector<Value> found;
    if (left != 0) {
        pattern.find_all(a[0].as_text(), [&](std::string_view part) {
            if (!work.make(TextPartSize + part.size())) return false;
            found.push_back(Value::string(std::string(part)));
            return --left != 0;
        });
    }
    return Value::list(std::move(found));
}

std::span<const LibraryFunction> text_functions() { return texts_library::Table; }
std::span<const LibraryFunction> regex_functions() { return texts_library::Regexes; }

}  // namespace porthole::cel
