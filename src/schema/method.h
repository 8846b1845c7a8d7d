#pragma once

namespace porthole::schema {

/// A gRPC method by its path, "/runtime.v1.RuntimeService/Version", and its messages.
template <class RequestType, class ResponseType>
struct Method {
    using Request = RequestType;
    using Response = ResponseType;
    const char* path;
};

/// A method that answers with a stream of responses.
template <class RequestType, class ResponseType>
struct StreamMethod {
    using Request = RequestType;
    using Response = ResponseType;
    const char* path;
};

}  // namespace porthole::schema
