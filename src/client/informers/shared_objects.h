#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"

namespace porthole::client {

/// How an informer reads one object of its kind.
struct InformerCodec {
    using Object = std::shared_ptr<const void>;
    struct Decoded {
        Object object;
        NamespacedName key;
        std::string resource_version;
    };
    using Decode = Result<Decoded> (*)(std::string_view json);

    const schema::Kind& kind;
    bool metadata_only = false;
    Decode decode;
};

/// What the informers of one process hold in common: each version of an object is decoded once and kept once, however many
/// components follow its kind, on whatever loops. Thread-safe; keeps no object alive by itself.
class SharedObjects {
public:
    SharedObjects();
    ~SharedObjects();

    /// As `decode(json)`; the object may be one that another informer has decoded.
    Result<InformerCodec::Decoded> decode(InformerCodec::Decode decode, std::string_view json);
    /// Objects that are held somewhere.
    std::size_t size() const;

private:
    struct Table;
    std::shared_ptr<Table> table_;  ///< outlives this as long as one of its objects does
};

}  // namespace porthole::client
