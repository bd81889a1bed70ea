#include "tools/swage/endpoint_failure.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace swage {

namespace {

using nlohmann::json;

constexpr size_t told_bytes = 300;

struct place {
  std::string host, port;
};

/// Of "https://host", "http://host:8000" or "http://[::1]:8000".
place place_of(const std::string& origin) {
  auto begin = origin.find("://") + 3;
  auto numeric = origin[begin] == '[';
  auto end = std::min(origin.find(numeric ? ']' : ':', begin), origin.size());
  auto colon = origin.find(':', end);
  place found;
  found.host = numeric ? origin.substr(begin + 1, end - begin - 1)
                       : origin.substr(begin, end - begin);
  found.port = colon != origin.npos         ? origin.substr(colon + 1)
               : origin.starts_with("https") ? "443"
                                             : "80";
  return found;
}

struct free_addresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// Connects to one address; 0, or the error's number.
int try_connect(const addrinfo& to) {
  int fd = ::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC,
                    to.ai_protocol);
  if (fd < 0)
    return errno;
  timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int code = ::connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  ::close(fd);
  return code;
}

std::string why_unreachable(const place& at) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (int code = ::getaddrinfo(at.host.c_str(), at.port.c_str(), &wanted,
                               &list))
    return fmt::format("the host {} is not found: {}", at.host,
                       ::gai_strerror(code));
  std::unique_ptr<addrinfo, free_addresses> owned{list};
  int code = 0;
  for (auto* one = list; one; one = one->ai_next)
    if (code = try_connect(*one); code == 0)
      break;
  if (code == ECONNREFUSED)
    return fmt::format("nothing listens on port {} of {} (connection refused); "
                       "start the server, or give the URL that it has",
                       at.port, at.host);
  return fmt::format("no connection to port {} of {}{}{}", at.port, at.host,
                     code == 0 ? "" : ": ", code == 0 ? "" : std::strerror(code));
}

std::string what_failed(int status, bool has_key) {
  switch (status) {
  case 401:
  case 403:
    return has_key ? "the server refuses the key that OPENAI_API_KEY holds"
                   : "the server wants a key; set OPENAI_API_KEY";
  case 404:
    return "the server has no such path or model";
  case 429:
    return "the server has no room or quota for more requests";
  default:
    return status >= 500 ? "the server failed" : "the server refuses the request";
  }
}

/// Where servers put what they say about a failure.
std::string message_in(const json& reply) {
  for (auto* at : {"/error/message", "/message", "/detail", "/error"}) {
    json::json_pointer where{at};
    if (reply.contains(where) && reply[where].is_string())
      return reply[where].get<std::string>();
  }
  return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string title_in(const std::string& page) {
  constexpr std::string_view opening = "<title>";
  auto begin = page.find(opening);
  if (begin == page.npos)
    return page;
  begin += opening.size();
  return page.substr(begin, page.find('<', begin) - begin);
}

} // namespace

std::string told_of_silence(const std::string& origin, httplib::Error why) {
  switch (why) {
  case httplib::Error::Connection:
    return why_unreachable(place_of(origin));
  case httplib::Error::ConnectionTimeout:
    return "no connection in time: the host does not answer on this port";
  case httplib::Error::Read:
    return "the server took the request and did not answer in time, or closed "
           "the connection";
  case httplib::Error::Write:
    return "the connection broke while the request was sent";
  case httplib::Error::SSLConnection:
  case httplib::Error::SSLLoadingCerts:
  case httplib::Error::SSLServerVerification:
    return fmt::format("no secure connection ({}): the server speaks no TLS, or "
                       "its certificate is not trusted here",
                       httplib::to_string(why));
  default:
    return fmt::format("no answer ({})", httplib::to_string(why));
  }
}

std::string told_of_status(int status, const std::string& body, bool has_key) {
  auto words = server_words(body);
  return fmt::format("{} (status {}){}{}", what_failed(status, has_key), status,
                     words.empty() ? "" : ": ", words);
}

std::string server_words(const std::string& body) {
  auto reply = json::parse(body, nullptr, false);
  auto text = reply.is_object() ? message_in(reply) : title_in(body);
  std::string line;
  for (char c : text)
    if (static_cast<unsigned char>(c) > ' ')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  while (line.ends_with(' '))
    line.pop_back();
  if (line.size() > told_bytes)
    line = line.substr(0, told_bytes) + " ...";
  return line;
}

} // namespace swage
