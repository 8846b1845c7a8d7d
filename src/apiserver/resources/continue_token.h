#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/record.h"

namespace porthole::apiserver {

/// Where a list in pages goes on, as an opaque URL-safe text.
struct ContinueToken {
    store::Revision revision;  ///< 0: of the present, for a list that goes on although its revision was compacted
    std::string start_key;

    /// Error: BadRequest for a text that is not a token, or a token of another list.
    static Result<ContinueToken> parse(std::string_view text, std::string_view prefix);
    std::string text(std::string_view prefix) const;
    /// The same place in the list of the present. Error: as parse.
    static Result<std::string> of_the_present(std::string_view text);
};

}  // namespace porthole::apiserver
