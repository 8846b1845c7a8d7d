#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/record.h"

namespace porthole::apiserver {

/// The position of the next page of a list, as an opaque URL-safe text.
struct ContinueToken {
    store::Revision revision;  ///< 0: the current one, for a list that continues although its revision was compacted
    std::string start_key;

    /// Error: BadRequest for a text that is not a token, or a token of another list.
    static Result<ContinueToken> parse(std::string_view text, std::string_view prefix);
    std::string text(std::string_view prefix) const;
    /// The same position in the current list. Error: as parse.
    static Result<std::string> of_the_present(std::string_view text);
};

}  // namespace porthole::apiserver
