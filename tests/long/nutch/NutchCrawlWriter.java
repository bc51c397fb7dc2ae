import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.FloatWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.MapFile;
import org.apache.hadoop.io.MapWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.VIntWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.Inlink;
import org.apache.nutch.crawl.Inlinks;
import org.apache.nutch.hostdb.HostDatum;
import org.apache.nutch.metadata.Metadata;
import org.apache.nutch.parse.Outlink;
import org.apache.nutch.parse.ParseData;
import org.apache.nutch.parse.ParseStatus;
import org.apache.nutch.parse.ParseText;
import org.apache.nutch.protocol.Content;
import org.apache.nutch.protocol.ProtocolStatus;

/** Writes a crawl with Nutch's and Hadoop's own classes, and what is in it as JSON lines (one record per line). */
public class NutchCrawlWriter {
  static final int PARTS = 2;
  static final long NOW = 1794700800000L;
  static final long DAY = 86400000L;

  static final Configuration conf = new Configuration();
  static SequenceFile.Writer.Option compression;
  static PrintWriter expected;
  static boolean tells;

  interface Maker { Writable make(int page) throws Exception; }

  public static void main(String[] args) throws Exception {
    String out = args[0];
    int pages = Integer.parseInt(args[1]);
    SequenceFile.CompressionType type = SequenceFile.CompressionType.valueOf(args[2]);
    // Without this, Hadoop also loads Avro.
    conf.set("io.serializations", "org.apache.hadoop.io.serializer.WritableSerialization");
    tells = args.length < 5 || !args[4].equals("quiet");
    compression = type == SequenceFile.CompressionType.NONE ? SequenceFile.Writer.compression(type)
        : SequenceFile.Writer.compression(type,
            (CompressionCodec) ReflectionUtils.newInstance(conf.getClassByName(args[3]), conf));
    Files.createDirectories(Paths.get(out));
    expected = new PrintWriter(Files.newBufferedWriter(Paths.get(out, "expected.jsonl"), StandardCharsets.UTF_8));

    maps(out + "/crawldb/current", "crawldb", pages, CrawlDatum.class, NutchCrawlWriter::known);
    maps(out + "/linkdb/current", "linkdb", pages, Inlinks.class, NutchCrawlWriter::inlinks);
    hosts(out + "/hostdb/current", pages);
    String first = out + "/segments/20261114120000";
    sequences(first + "/crawl_generate", "crawl_generate", pages, CrawlDatum.class, NutchCrawlWriter::listed);
    maps(first + "/crawl_fetch", "crawl_fetch", pages, CrawlDatum.class, page -> fetched(page, NOW - DAY));
    maps(first + "/content", "content", pages, Content.class, NutchCrawlWriter::content);
    maps(first + "/parse_data", "parse_data", pages, ParseData.class, NutchCrawlWriter::parse);
    maps(first + "/parse_text", "parse_text", pages, ParseText.class, page -> new ParseText(text(page)));
    links(first + "/crawl_parse", pages);
    int few = Math.min(pages, 20);
    tells = false;
    String second = out + "/segments/20261116120000";  // fetched after the last update, not parsed
    sequences(second + "/crawl_generate", "", few, CrawlDatum.class, NutchCrawlWriter::listed);
    maps(second + "/crawl_fetch", "", few, CrawlDatum.class, page -> fetched(page, NOW + 400 * DAY));
    maps(second + "/content", "", few, Content.class, NutchCrawlWriter::content);
    sequences(out + "/segments/20261117120000/crawl_generate", "", few, CrawlDatum.class, NutchCrawlWriter::listed);
    expected.close();
  }

  static String url(int page) {
    return (page % 7 == 0 ? "https" : "http") + "://www" + page % 50 + ".example/dir/" + page
        + (page % 5 == 0 ? "?a=1&b=%C3%A9" : ".html");
  }

  static MapWritable metadata(int page) {
    MapWritable found = new MapWritable();
    if (page % 3 == 0) return found;
    found.put(new Text("title é " + page), new Text("value\u4e2d" + page));
    found.put(new Text("_pst_"), new ProtocolStatus(page % 2 == 0 ? ProtocolStatus.NOTFOUND : ProtocolStatus.EXCEPTION,
        "Http code=503, url=" + url(page)));
    found.put(new Text("_ngt_"), new LongWritable(NOW - page));
    found.put(new Text("int"), new IntWritable(-page));
    found.put(new Text("vint"), new VIntWritable(page * 1000 - 5));
    found.put(new Text("float"), new FloatWritable(page / 4f));
    found.put(new Text("double"), new DoubleWritable(page / 8.0));
    found.put(new Text("flag"), new BooleanWritable(page % 2 == 0));
    found.put(new Text("bytes"), new BytesWritable(new byte[] {1, 2, (byte) 0xff}));
    return found;
  }

  static CrawlDatum datum(int status, int page, long fetchTime) {
    Random random = new Random(page);
    CrawlDatum found = new CrawlDatum(status, 2592000 + page, random.nextFloat() * 10);
    found.setFetchTime(fetchTime);
    found.setRetriesSinceFetch(page % 4);
    found.setModifiedTime(page % 2 == 0 ? 0 : NOW - page * 1000L);
    if (page % 3 != 1) {
      byte[] signature = new byte[16];
      random.nextBytes(signature);
      found.setSignature(signature);
    }
    MapWritable metadata = metadata(page);
    if (!metadata.isEmpty()) found.setMetaData(metadata);
    return found;
  }

  static CrawlDatum known(int page) { return datum(1 + page % 9, page, NOW + (page % 300) * DAY); }

  static CrawlDatum listed(int page) { return datum(CrawlDatum.STATUS_DB_UNFETCHED, page, NOW - 2 * DAY); }

  static CrawlDatum fetched(int page, long when) {
    CrawlDatum found = datum(0x21 + page % 6, page, when + page);
    if (page % 6 == 2 || page % 6 == 3)
      found.getMetaData().put(new Text("_pst_"),
          new ProtocolStatus(page % 6 == 2 ? ProtocolStatus.TEMP_MOVED : ProtocolStatus.MOVED, url(page + 1)));
    if (page % 6 == 0) {
      found.getMetaData().put(new Text("nutch.protocol.code"), new Text("200"));
      found.getMetaData().put(new Text("_rs_"), new IntWritable(page % 1000));
    }
    return found;
  }

  static Content content(int page) {
    Metadata metadata = new Metadata();
    metadata.add("Content-Type", "text/html; charset=utf-8");
    metadata.add("Content-Encoding", "gzip");
    metadata.add("Set-Cookie", "a=" + page);
    metadata.add("Set-Cookie", "b=2");
    metadata.add("nutch.segment.name", "20261114120000");
    if (page % 10 == 0) {
      metadata.add("http.content.truncated", "true");
      metadata.add("http.content.truncated.reason", "length");
    }
    if (page % 4 == 0) metadata.add("_ip_", "192.0.2." + page % 250);
    byte[] body = ("<html><title>" + page + "</title>" + text(page)).getBytes(StandardCharsets.UTF_8);
    Content found = new Content();
    try {
      set(found, "version", -1);
      set(found, "url", url(page));
      set(found, "base", url(page));
      set(found, "content", body);
      set(found, "contentType", "application/xhtml+xml");
      set(found, "metadata", metadata);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
    return found;
  }

  /** Sets a field: Content's constructor would need Tika's configuration to guess the type. */
  static void set(Object object, String name, Object value) throws ReflectiveOperationException {
    java.lang.reflect.Field field = object.getClass().getDeclaredField(name);
    field.setAccessible(true);
    field.set(object, value);
  }

  static String text(int page) {
    StringBuilder found = new StringBuilder();
    for (int word = 0; word < 400; word++) found.append("word").append((page * 31 + word * word) % 1000).append(' ');
    return found.append("\u4e2d\ud83d\ude00").toString();
  }

  static ParseData parse(int page) {
    ParseStatus status = page % 11 == 1 ? new ParseStatus(ParseStatus.FAILED, ParseStatus.FAILED_EXCEPTION, "broken")
        : page % 11 == 2 ? new ParseStatus(ParseStatus.SUCCESS, ParseStatus.SUCCESS_REDIRECT,
            new String[] {url(page + 1), "0"}) : ParseStatus.STATUS_SUCCESS;
    Outlink[] links = new Outlink[page % 20];
    for (int link = 0; link < links.length; link++) {
      try {
        links[link] = new Outlink(url(page + link + 1), "anchor é " + link);
      } catch (java.net.MalformedURLException error) {
        throw new IllegalStateException(error);
      }
      if (link % 3 == 0) {
        MapWritable about = new MapWritable();
        about.put(new Text("rel"), new Text("nofollow"));
        links[link].setMetadata(about);
      }
    }
    Metadata ofContent = new Metadata();
    ofContent.add("Content-Type", "text/html; charset=utf-8");
    ofContent.add("nutch.content.digest", String.format("%032x", page));
    Metadata ofParse = new Metadata();
    ofParse.add("language", "en");
    ofParse.add("CharEncodingForConversion", "utf-8");
    ofParse.add("keyword", "one");
    ofParse.add("keyword", "two " + page);
    if (page % 5 == 0) ofParse.add("robots", "noindex,nofollow");
    return new ParseData(status, "Title " + page, links, ofContent, ofParse);
  }

  static Inlinks inlinks(int page) {
    Inlinks found = new Inlinks();
    for (int number = 1; number <= 1 + page % 8; number++) {
      Inlink link = new Inlink(url(page + number), "to " + page + " ✓");
      if (number % 2 == 0) describe(link);
      found.add(link);
    }
    return found;
  }

  /** Gives a link metadata, which it can have since 1.21. */
  static void describe(Inlink link) {
    MapWritable about = new MapWritable();
    about.put(new Text("rel"), new Text("nofollow"));
    try {
      Inlink.class.getMethod("setMetadata", MapWritable.class).invoke(link, about);
    } catch (ReflectiveOperationException error) {
      return;
    }
  }

  /** Sets a count, which is an Integer in early releases and a Long in later ones. */
  static void count(HostDatum datum, String setter, int value) throws ReflectiveOperationException {
    for (java.lang.reflect.Method method : HostDatum.class.getMethods())
      if (method.getName().equals(setter))
        method.invoke(datum, method.getParameterTypes()[0] == Long.class ? (Object) (long) value : (Object) value);
  }

  static void hosts(String folder, int pages) throws Exception {
    TreeMap<Text, HostDatum> hosts = new TreeMap<>();
    for (int host = 0; host < Math.min(50, pages); host++) {
      HostDatum datum = new HostDatum(host / 3f);
      datum.setLastCheck(new java.util.Date(NOW - host));
      datum.setHomepageUrl("http://www" + host + ".example/");
      count(datum, "setDnsFailures", host);
      count(datum, "setConnectionFailures", host + 1);
      datum.setUnfetched(host + 2);
      datum.setFetched(host + 3);
      datum.setNotModified(host + 4);
      datum.setRedirTemp(host + 5);
      datum.setRedirPerm(host + 6);
      datum.setGone(host + 7);
      datum.getMetaData().put(new Text("about"), new Text("host " + host));
      hosts.put(new Text("www" + host + ".example"), datum);
    }
    try (SequenceFile.Writer writer = sequence(folder + "/part-r-00000", HostDatum.class)) {
      for (Map.Entry<Text, HostDatum> each : hosts.entrySet()) {
        writer.append(each.getKey(), each.getValue());
        tell("hostdb", each.getKey().toString(), each.getValue());
      }
    }
  }

  static void links(String folder, int pages) throws Exception {
    try (SequenceFile.Writer writer = sequence(folder + "/part-r-00000", CrawlDatum.class)) {
      for (int page = 0; page < pages; page++) {
        CrawlDatum signature = new CrawlDatum(CrawlDatum.STATUS_SIGNATURE, 0);
        signature.setSignature(new byte[] {1, 2, 3});
        writer.append(new Text(url(page)), signature);
        for (Outlink link : parse(page).getOutlinks()) {
          CrawlDatum target = new CrawlDatum(CrawlDatum.STATUS_LINKED, 0, 1f / 16);
          writer.append(new Text(link.getToUrl()), target);
        }
      }
    }
  }

  static List<List<Integer>> partitions(int pages) {
    List<List<Integer>> found = new ArrayList<>();
    for (int part = 0; part < PARTS; part++) found.add(new ArrayList<>());
    for (int page = 0; page < pages; page++)
      found.get((new Text(url(page)).hashCode() & Integer.MAX_VALUE) % PARTS).add(page);
    for (List<Integer> part : found) part.sort((one, two) -> new Text(url(one)).compareTo(new Text(url(two))));
    return found;
  }

  static void maps(String folder, String kind, int pages, Class<? extends Writable> type, Maker maker) throws Exception {
    List<List<Integer>> parts = partitions(pages);
    for (int part = 0; part < PARTS; part++) {
      Path path = new Path(folder, String.format("part-r-%05d", part));
      try (MapFile.Writer writer = new MapFile.Writer(conf, path, MapFile.Writer.keyClass(Text.class),
          MapFile.Writer.valueClass(type), compression)) {
        for (int page : parts.get(part)) {
          Writable value = maker.make(page);
          writer.append(new Text(url(page)), value);
          tell(kind, url(page), value);
        }
      }
    }
  }

  static void sequences(String folder, String kind, int pages, Class<? extends Writable> type, Maker maker)
      throws Exception {
    try (SequenceFile.Writer writer = sequence(folder + "/part-r-00000", type)) {
      for (int page = 0; page < pages; page++) {
        Writable value = maker.make(page);
        writer.append(new Text(url(page)), value);
        tell(kind, url(page), value);
      }
    }
  }

  static SequenceFile.Writer sequence(String file, Class<? extends Writable> type) throws Exception {
    return SequenceFile.createWriter(conf, SequenceFile.Writer.file(new Path(file)),
        SequenceFile.Writer.keyClass(Text.class), SequenceFile.Writer.valueClass(type), compression);
  }

  // What was written, from the objects' own accessors

  static void tell(String kind, String key, Writable value) {
    if (!tells || kind.isEmpty()) return;
    StringBuilder line = new StringBuilder("{\"kind\":").append(text(kind)).append(",\"key\":").append(text(key));
    if (value instanceof CrawlDatum) {
      CrawlDatum datum = (CrawlDatum) value;
      add(line, "status", datum.getStatus());
      add(line, "fetch_time", datum.getFetchTime());
      add(line, "retries", datum.getRetriesSinceFetch());
      add(line, "interval", datum.getFetchInterval());
      add(line, "score", (double) datum.getScore());
      add(line, "modified_time", datum.getModifiedTime());
      add(line, "signature", hex(datum.getSignature()));
      line.append(",\"metadata\":{");
      String comma = "";
      for (Map.Entry<Writable, Writable> each : datum.getMetaData().entrySet()) {
        String shown = each.getValue() instanceof BytesWritable ? hex(((BytesWritable) each.getValue()).copyBytes())
            : each.getValue().toString();
        line.append(comma).append(text(each.getKey().toString())).append(':').append(text(shown));
        comma = ",";
      }
      line.append('}');
    } else if (value instanceof Inlinks) {
      line.append(",\"inlinks\":[");
      String comma = "";
      for (java.util.Iterator<Inlink> links = ((Inlinks) value).iterator(); links.hasNext();) {
        Inlink link = links.next();
        line.append(comma).append('[').append(text(link.getFromUrl())).append(',').append(text(link.getAnchor())).append(']');
        comma = ",";
      }
      line.append(']');
    } else if (value instanceof HostDatum) {
      HostDatum datum = (HostDatum) value;
      add(line, "score", (double) datum.getScore());
      add(line, "last_check", datum.getLastCheck().getTime());
      add(line, "homepage", datum.getHomepageUrl());
      add(line, "dns_failures", datum.getDnsFailures());
      add(line, "connection_failures", datum.getConnectionFailures());
      add(line, "unfetched", datum.getUnfetched());
      add(line, "fetched", datum.getFetched());
      add(line, "notmodified", datum.getNotModified());
      add(line, "redir_temp", datum.getRedirTemp());
      add(line, "redir_perm", datum.getRedirPerm());
      add(line, "gone", datum.getGone());
    } else if (value instanceof Content) {
      Content content = (Content) value;
      add(line, "body", hex(content.getContent()));
      add(line, "content_type", content.getContentType());
      metadata(line, "metadata", content.getMetadata());
    } else if (value instanceof ParseText) {
      add(line, "text", ((ParseText) value).getText());
    } else if (value instanceof ParseData) {
      ParseData data = (ParseData) value;
      add(line, "major", data.getStatus().getMajorCode());
      add(line, "minor", data.getStatus().getMinorCode());
      add(line, "title", data.getTitle());
      line.append(",\"outlinks\":[");
      String comma = "";
      for (Outlink link : data.getOutlinks()) {
        line.append(comma).append('[').append(text(link.getToUrl())).append(',').append(text(link.getAnchor())).append(']');
        comma = ",";
      }
      line.append(']');
      add(line, "signature", data.getContentMeta().get("nutch.content.digest"));
      metadata(line, "metadata", data.getParseMeta());
    }
    expected.println(line.append('}'));
  }

  static void metadata(StringBuilder line, String name, Metadata metadata) {
    line.append(',').append(text(name)).append(":{");
    String comma = "";
    for (String each : metadata.names()) {
      line.append(comma).append(text(each)).append(":[");
      String inner = "";
      for (String value : metadata.getValues(each)) {
        line.append(inner).append(text(value));
        inner = ",";
      }
      line.append(']');
      comma = ",";
    }
    line.append('}');
  }

  static void add(StringBuilder line, String name, Object value) {
    line.append(',').append(text(name)).append(':');
    line.append(value == null ? "null" : value instanceof String ? text((String) value) : value.toString());
  }

  static String hex(byte[] bytes) {
    if (bytes == null) return null;
    StringBuilder found = new StringBuilder();
    for (byte each : bytes) found.append(String.format("%02x", each));
    return found.toString();
  }

  static String text(String value) {
    StringBuilder found = new StringBuilder("\"");
    for (char letter : value.toCharArray())
      found.append(letter < ' ' || letter == '"' || letter == '\\' || letter > '~' ? String.format("\\u%04x", (int) letter)
          : String.valueOf(letter));
    return found.append('"').toString();
  }
}
