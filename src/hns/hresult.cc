#include "hns/hresult.h"

#include <fmt/format.h>

#include <charconv>

#include "hns/documents.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

struct Known {
    Hresult code;
    const char* name;
    Reason reason;
    const char* text;
};

constexpr Known Table[] = {
    {Hresult::Ok, "S_OK", Reason::InternalError, "The service reported an error without a code."},
    {Hresult::NotImplemented, "E_NOTIMPL", Reason::MethodNotAllowed, "Not implemented."},
    {Hresult::Unexpected, "E_UNEXPECTED", Reason::InternalError, "Unexpected failure."},
    {Hresult::AccessDenied, "E_ACCESSDENIED", Reason::Forbidden, "Access is denied."},
    {Hresult::InvalidData, "ERROR_INVALID_DATA", Reason::Invalid, "The data is invalid."},
    {Hresult::WrongDisk, "ERROR_WRONG_DISK", Reason::InternalError, "The object was stored by another build of the service."},
    {Hresult::NotSupported, "ERROR_NOT_SUPPORTED", Reason::MethodNotAllowed, "The request is not supported."},
    {Hresult::InvalidParameter, "E_INVALIDARG", Reason::Invalid, "The parameter is incorrect."},
    {Hresult::AlreadyExists, "ERROR_ALREADY_EXISTS", Reason::AlreadyExists, "Cannot create a file when that file already exists."},
    {Hresult::ElementNotFound, "ERROR_NOT_FOUND", Reason::NotFound, "Element not found."},
    {Hresult::RpcServerUnavailable, "RPC_S_SERVER_UNAVAILABLE", Reason::Unavailable, "The RPC server is unavailable."},
    {Hresult::RpcCallFailed, "RPC_S_CALL_FAILED", Reason::Unavailable, "The remote procedure call failed."},
    {Hresult::ObjectAlreadyExists, "ERROR_OBJECT_ALREADY_EXISTS", Reason::AlreadyExists, "The object already exists."},
    {Hresult::NetworkNotFound, "HCN_E_NETWORK_NOT_FOUND", Reason::NotFound, "The network was not found."},
    {Hresult::EndpointNotFound, "HCN_E_ENDPOINT_NOT_FOUND", Reason::NotFound, "The endpoint was not found."},
    {Hresult::SwitchNotFound, "HCN_E_SWITCH_NOT_FOUND", Reason::NotFound, "The virtual switch was not found."},
    {Hresult::SubnetNotFound, "HCN_E_SUBNET_NOT_FOUND", Reason::NotFound, "The subnet was not found."},
    {Hresult::AdapterNotFound, "HCN_E_ADAPTER_NOT_FOUND", Reason::NotFound, "The network adapter was not found."},
    {Hresult::PortNotFound, "HCN_E_PORT_NOT_FOUND", Reason::Unavailable, "The switch-port was not found."},
    {Hresult::PolicyNotFound, "HCN_E_POLICY_NOT_FOUND", Reason::NotFound, "The policy was not found."},
    {Hresult::InvalidNetwork, "HCN_E_INVALID_NETWORK", Reason::Invalid, "The network is invalid."},
    {Hresult::InvalidNetworkType, "HCN_E_INVALID_NETWORK_TYPE", Reason::Invalid, "The network type is invalid."},
    {Hresult::InvalidEndpoint, "HCN_E_INVALID_ENDPOINT", Reason::Invalid, "The endpoint is invalid."},
    {Hresult::InvalidPolicy, "HCN_E_INVALID_POLICY", Reason::Invalid, "The policy is invalid."},
    {Hresult::InvalidPolicyType, "HCN_E_INVALID_POLICY_TYPE", Reason::Invalid, "The policy type is invalid."},
    {Hresult::InvalidRemoteEndpointOperation, "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", Reason::Invalid,
     "The operation is invalid for a remote endpoint."},
    {Hresult::NetworkAlreadyExists, "HCN_E_NETWORK_ALREADY_EXISTS", Reason::AlreadyExists, "A network with this name already exists."},
    {Hresult::PolicyAlreadyExists, "HCN_E_POLICY_ALREADY_EXISTS", Reason::AlreadyExists, "A policy with this name already exists."},
    {Hresult::PortAlreadyExists, "HCN_E_PORT_ALREADY_EXISTS", Reason::AlreadyExists, "The specified port already exists."},
    {Hresult::EndpointAlreadyAttached, "HCN_E_ENDPOINT_ALREADY_ATTACHED", Reason::AlreadyExists,
     "This endpoint is already attached to the switch."},
    {Hresult::RequestUnsupported, "HCN_E_REQUEST_UNSUPPORTED", Reason::MethodNotAllowed, "The specified request is unsupported."},
    {Hresult::InvalidJson, "HCN_E_INVALID_JSON", Reason::Invalid, "The JSON document is invalid."},
    {Hresult::InvalidJsonReference, "HCN_E_INVALID_JSON_REFERENCE", Reason::Invalid, "The JSON document refers to an unknown object."},
    {Hresult::InvalidIp, "HCN_E_INVALID_IP", Reason::Invalid, "The IP address is invalid."},
    {Hresult::ManagerStopped, "HCN_E_MANAGER_STOPPED", Reason::Unavailable, "The network manager is stopped."},
    {Hresult::EndpointNamespaceAlreadyExists, "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS", Reason::AlreadyExists,
     "The endpoint is already in a network namespace."},
    {Hresult::EntityHasReferences, "HCN_E_ENTITY_HAS_REFERENCES", Reason::Conflict, "The object is still in use."},
    {Hresult::InvalidInternalPort, "HCN_E_INVALID_INTERNAL_PORT", Reason::Invalid, "The internal port must not be zero."},
    {Hresult::NamespaceAttachFailed, "HCN_E_NAMESPACE_ATTACH_FAILED", Reason::InternalError,
     "The endpoint could not be attached to the namespace."},
    {Hresult::AddressInvalidOrReserved, "HCN_E_ADDR_INVALID_OR_RESERVED", Reason::Invalid, "The address is invalid or reserved."},
    {Hresult::InvalidPrefix, "HCN_E_INVALID_PREFIX", Reason::Invalid, "The address prefix is invalid."},
    {Hresult::InvalidSubnet, "HCN_E_INVALID_SUBNET", Reason::Invalid, "The subnet is invalid."},
    {Hresult::InvalidIpSubnet, "HCN_E_INVALID_IP_SUBNET", Reason::Invalid, "The IP subnet is invalid."},
    {Hresult::EndpointNotAttached, "HCN_E_ENDPOINT_NOT_ATTACHED", Reason::NotFound, "The endpoint is not attached."},
    {Hresult::EndpointNotLocal, "HCN_E_ENDPOINT_NOT_LOCAL", Reason::Invalid, "The endpoint is not of this host."},
};

const Known* find_known(Hresult code) {
    for (const Known& known : Table) {
        if (known.code == code) return &known;
    }
    return nullptr;
}

constexpr const char* CauseType = "HRESULT";

const Cause* find_cause(const Error& error) {
    for (const Cause& cause : error.details->causes) {
        if (cause.type == CauseType) return &cause;
    }
    return nullptr;
}

}  // namespace

std::string hresult_text(Hresult code) { return fmt::format("0x{:08x}", static_cast<std::uint32_t>(code)); }

std::string hresult_name(Hresult code) {
    const Known* known = find_known(code);
    return known ? known->name : hresult_text(code);
}

Error hresult_error(Hresult code, std::string text) {
    const Known* known = find_known(code);
    if (text.empty()) text = known ? known->text : "The host network service failed.";
    Error error(known ? known->reason : Reason::InternalError, known ? fmt::format("{} ({}): {}", known->name, hresult_text(code), text)
                                                                     : fmt::format("{}: {}", hresult_text(code), text));
    error.details->causes.push_back({CauseType, std::move(text), hresult_text(code)});
    return error;
}

Hresult hresult_of(const Error& error) {
    const Cause* cause = find_cause(error);
    if (!cause || !cause->field.starts_with("0x")) return Hresult::Ok;
    std::uint32_t code = 0;
    std::from_chars(cause->field.data() + 2, cause->field.data() + cause->field.size(), code, 16);
    return Hresult{code};
}

std::string record_text(const Error& error) {
    const Cause* cause = find_cause(error);
    return cause ? cause->message : error.message;
}

bool is_object_missing(const Error& error) {
    switch (hresult_of(error)) {
        case Hresult::NetworkNotFound:
        case Hresult::EndpointNotFound:
        case Hresult::SubnetNotFound:
        case Hresult::PolicyNotFound:
        case Hresult::ElementNotFound:
            return true;
        default:
            return false;
    }
}

bool is_disconnected(const Error& error) {
    const Hresult code = hresult_of(error);
    return code == Hresult::RpcServerUnavailable || code == Hresult::RpcCallFailed || code == Hresult::ManagerStopped;
}

std::string error_record(const Error& error) {
    const Hresult code = hresult_of(error);
    hcn::ErrorRecord record;
    record.error = record_text(error) + " ";
    record.error_code = static_cast<std::uint32_t>(code == Hresult::Ok ? Hresult::Unexpected : code);
    return write_document(record);
}

Error error_of_record(std::uint32_t hresult, std::string_view record) {
    std::string text;
    if (!record.empty()) {
        if (auto parsed = parse_document<hcn::ErrorRecord>(record)) {
            text = parsed->error;
            if (static_cast<std::int32_t>(hresult) >= 0) hresult = parsed->error_code;
        } else {
            text = record;
        }
    }
    while (text.ends_with(' ')) text.pop_back();
    // Win32 codes come bare where somebody has cut them down to 16 bits.
    if (hresult > 0 && hresult < 0x10000) hresult |= 0x80070000;
    return hresult_error(Hresult{hresult}, std::move(text));
}

}  // namespace porthole::hns
