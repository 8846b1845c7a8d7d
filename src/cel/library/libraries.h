#pragma once
#include <span>
#include <string_view>

#include "base/regex.h"
#include "base/values/quantity.h"
#include "cel/checker/declarations.h"
#include "cel/syntax/parser.h"

namespace porthole::cel {

/// A row of a library's table: an overload, and its implementation.
struct LibraryFunction {
    const char* declaration;
    Implementation run = {};
};

/// Functions and macros that are added together, since a minor version of Kubernetes.
struct Library {
    std::span<const LibraryFunction> functions;
    std::span<const Macro> macros;
    int since = 0;
    enum class In { Both, Kubernetes, Extended } in = In::Both;  ///< which environments have it
};

/// All libraries, in order of declaration: overloads that are declared first are tried first.
std::span<const Library> all_libraries();

/// `matches`, `find` and `findAll` with a pattern that is compiled already.
Value call_with_pattern(std::string_view function, const Regex& pattern, std::span<const Value> arguments, Work& work);
/// Counts the time of compiling the pattern: a few characters can become thousands of instructions.
void look_at_pattern(const Result<Regex>& pattern, Work& work);
/// Memory of a part of a text that is a separate value, in addition to its characters.
inline constexpr std::size_t TextPartSize = 96;

/// A value of the type kubernetes.Quantity.
Value make_quantity(const Quantity& quantity);
/// A value of the type kubernetes.Semver; an error where the text is not a semantic version.
Value make_semver(std::string_view text);

// The tables.
std::span<const LibraryFunction> operator_functions();
std::span<const LibraryFunction> conversion_functions();
std::span<const LibraryFunction> text_functions();  ///< of the language: size, contains, startsWith, matches, …
std::span<const LibraryFunction> time_functions();
std::span<const LibraryFunction> optional_functions();
std::span<const LibraryFunction> optional_functions_v2();  ///< first, last, unwrap
std::span<const LibraryFunction> string_functions();       ///< charAt, split, …
std::span<const LibraryFunction> string_functions_v1();    ///< format, strings.quote
std::span<const LibraryFunction> string_functions_v4();    ///< the newer format, reverse
std::span<const LibraryFunction> regex_functions();
std::span<const LibraryFunction> list_functions();      ///< Kubernetes': isSorted, sum, …
std::span<const LibraryFunction> list_functions_v1();   ///< includes
std::span<const LibraryFunction> list_functions_ext();  ///< slice, sort, flatten, distinct, …
std::span<const LibraryFunction> set_functions();
std::span<const LibraryFunction> two_variable_functions();
std::span<const LibraryFunction> network_functions();
std::span<const LibraryFunction> url_functions();
std::span<const LibraryFunction> quantity_functions();
std::span<const LibraryFunction> semver_functions();
std::span<const LibraryFunction> format_functions();
std::span<const LibraryFunction> authorizer_functions();
std::span<const LibraryFunction> authorizer_selector_functions();
std::span<const LibraryFunction> json_patch_functions();
std::span<const LibraryFunction> math_functions();
std::span<const LibraryFunction> encoder_functions();

}  // namespace porthole::cel
