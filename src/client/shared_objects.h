#pragma once
#include <memory>
#include <string_view>

#include "client/informer_codec.h"

namespace porthole::client {

/// What the informers of one process hold in common: each version of an object is decoded once and kept once, however many
/// components follow its kind, on whatever loops. Thread-safe; holds nothing that no informer holds.
class SharedObjects {
public:
    SharedObjects();
    ~SharedObjects();

    /// As `decode(json)`; the object may be one that another informer has decoded.
    Result<InformerCodec::Decoded> decode(InformerCodec::Decode decode, std::string_view json);
    /// Objects that somebody holds.
    std::size_t size() const;

private:
    struct Table;
    std::shared_ptr<Table> table_;  ///< outlives this as long as one of its objects does
};

}  // namespace porthole::client
