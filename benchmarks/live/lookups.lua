-- Lookups of random stored URLs: wrk ... -s lookups.lua URL -- RECORDS DOMAINS PAGES BATCH, BATCH being 0 for one URL each.

local records, domains, pages, batch, prepared

local function url(number)
  return string.format("http://www.site%d.example/%d.html?story=%d", number % domains, number % pages, number)
end

local function single()
  local asked = url(math.random(0, records - 1)):gsub(":", "%%3A"):gsub("/", "%%2F"):gsub("?", "%%3F"):gsub("=", "%%3D")
  return wrk.format("GET", "/v1/urls?url=" .. asked)
end

local function several()
  local urls = {}
  for place = 1, batch do
    urls[place] = '"' .. url(math.random(0, records - 1)) .. '"'
  end
  local body = '{"urls":[' .. table.concat(urls, ",") .. "]}"
  return wrk.format("POST", "/v1/urls/lookup", { ["Content-Type"] = "application/json" }, body)
end

function init(words)
  records, domains, pages, batch = unpack(words)
  records, domains, pages, batch = tonumber(records), tonumber(domains), tonumber(pages), tonumber(batch)
  math.randomseed(os.time())
  prepared = {}
  -- Ready-made, so that wrk's own time is spent on the wire: it shares the cores with whom it measures.
  for place = 1, batch > 0 and 500 or 50000 do
    prepared[place] = batch > 0 and several() or single()
  end
end

local asked = 0

function request()
  asked = asked % #prepared + 1
  return prepared[asked]
end

function done(summary, latency)
  local wrong = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('{"requests":%d,"seconds":%.3f,"median":%.3f,"p99":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.status, wrong))
end
