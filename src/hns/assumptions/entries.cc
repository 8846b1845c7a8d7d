#include "hns/assumptions/entries.h"

#include <string>
#include <utility>

#include "schema/yaml/yaml.h"

namespace porthole::hns {
namespace {

constexpr std::size_t MostAssumptions = 1000;

}  // namespace

Result<schema::Array> assumption_entries(std::string_view text) {
    TRY(schema::Value document, schema::parse_yaml(text));
    schema::Value* const list = document.find("assumptions");
    if (!list || !list->is_array() || list->as_array().size() > MostAssumptions)
        return Error(Reason::BadRequest, "\"assumptions\" must be a list of at most " + std::to_string(MostAssumptions) + " entries");
    return std::move(list->as_array());
}

}  // namespace porthole::hns
