#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"

namespace porthole::client {

/// How an informer decodes an object of its kind.
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

/// Objects shared by the informers of one process: each version of an object is decoded and stored once, no matter how many components
/// follow its kind, and on which loops. Thread-safe; does not keep objects alive.
class SharedObjects {
public:
    SharedObjects();
    ~SharedObjects();

    /// As `decode(json)`; the object may be one that another informer has decoded.
    Result<InformerCodec::Decoded> decode(InformerCodec::Decode decode, std::string_view json);
    /// Number of objects that are alive.
    std::size_t size() const;

private:
    struct Table;
    std::shared_ptr<Table> table_;  ///< lives as long as this or one of its objects
};

}  // namespace porthole::client
