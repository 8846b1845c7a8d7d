#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"
#include "schema/value.h"

namespace porthole::hns::emulator::v1 {

/// A call of HNSCall: `POST /endpoints/<id>/attach`.
struct Request {
    std::string method;      ///< "GET", "POST" or "DELETE"
    std::string collection;  ///< "endpoints"
    std::string id;          ///< "" for the collection itself; "version" below "globals"
    std::string action;      ///< "attach"
    schema::Value body;      ///< an object; empty where none was sent
};

/// Error: Hresult::InvalidParameter, InvalidJson.
Result<Request> parse_request(const std::string& method, const std::string& path, const std::string& body);

/// Carries it out: the `Output` of the response. Everything but /endpointstats. Error: an HRESULT; RequestUnsupported for unknown paths.
Result<schema::Value> answer(Transaction& transaction, const Request& request);

/// `{"Success":true,"Output":...}` of an answer as JSON text, or `{"Success":false,"Error":...,"ErrorCode":...}`.
std::string write_response(const Result<std::string>& output);
/// The Output of /endpointstats.
std::string write_stats(const std::string& endpoint_id, const Counters& counters);

}  // namespace porthole::hns::emulator::v1
