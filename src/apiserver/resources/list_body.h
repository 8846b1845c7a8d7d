#pragma once
#include <string>
#include <vector>

#include "apiserver/request/negotiation.h"
#include "base/result.h"
#include "schema/registry.h"
#include "schema/value.h"
#include "store/record.h"

namespace porthole::apiserver {

/// The body of a list, to which items are added one after the other: none of it is a tree as long as the list, unless the client asks for a
/// form for people (YAML, indented JSON).
class ListBody {
public:
    /// `list` has all but its items, which become the member `items`; `item` is their kind. Protobuf of a kind without such a form is JSON.
    ListBody(OutputForm form, schema::Value list, std::string_view items, const schema::Kind* item);

    /// Adds an item. Error: InternalError for one that its kind cannot hold.
    Result<void> add(schema::Value item);
    /// The same from its JSON, which is shared. Requires: compact JSON.
    void add_json(store::Bytes item);
    /// The same, where `append` adds the JSON to a text. Requires: compact JSON.
    template <class Append>
    Result<void> add_json_by(Append append) {
        separate();
        TRY_VOID(append(text_));
        cut();
        return {};
    }
    /// The pieces of the body; call once, at the end.
    std::vector<store::Bytes> finish();

private:
    bool is_compact() const { return form_.encoding == Encoding::Json && !form_.pretty; }
    void separate();
    void cut();

    OutputForm form_;
    schema::Value list_;  ///< without its items
    const std::string items_;
    const schema::Kind *kind_ = nullptr, *item_;  ///< of protobuf
    std::vector<store::Bytes> pieces_;
    std::string text_;  ///< after the pieces
    schema::Array array_;
    bool empty_ = true;
};

}  // namespace porthole::apiserver
