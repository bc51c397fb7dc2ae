import java.io.ByteArrayOutputStream;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.MalformedURLException;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import crawlercommons.robots.BaseRobotRules;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.IndexedSortable;
import org.apache.hadoop.util.IndexedSorter;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;
import org.apache.nutch.crawl.DeduplicationJob;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.crawl.Inlinks;
import org.apache.nutch.crawl.Injector;
import org.apache.nutch.crawl.LinkDb;
import org.apache.nutch.fetcher.Fetcher;
import org.apache.nutch.indexer.IndexWriter;
import org.apache.nutch.indexer.IndexWriterParams;
import org.apache.nutch.indexer.IndexingJob;
import org.apache.nutch.indexer.NutchDocument;
import org.apache.nutch.metadata.Metadata;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.net.URLNormalizer;
import org.apache.nutch.parse.Outlink;
import org.apache.nutch.parse.Parse;
import org.apache.nutch.parse.ParseData;
import org.apache.nutch.parse.ParseResult;
import org.apache.nutch.parse.ParseSegment;
import org.apache.nutch.parse.ParseStatus;
import org.apache.nutch.parse.Parser;
import org.apache.nutch.protocol.Content;
import org.apache.nutch.protocol.Protocol;
import org.apache.nutch.protocol.ProtocolOutput;
import org.apache.nutch.protocol.ProtocolStatus;
import org.apache.nutch.protocol.RobotRulesParser;
import org.apache.nutch.scoring.AbstractScoringFilter;
import org.apache.nutch.scoring.webgraph.LinkRank;
import org.apache.nutch.scoring.webgraph.NodeDumper;
import org.apache.nutch.scoring.webgraph.WebGraph;
import org.apache.nutch.util.NutchConfiguration;

/**
 * Crawls a site with Nutch's own jobs, from inject to link ranks.
 *
 * Nutch's plug-ins are not published as jars, so those that a crawl cannot do without are here, in their simplest form.
 */
public class SameSite {
  public static void main(String[] args) throws Exception {
    String out = args[0];
    int rounds = Integer.parseInt(args[1]);
    Configuration conf = NutchConfiguration.create();
    Path db = new Path(out, "crawldb"), segments = new Path(out, "segments");
    run(conf, new Injector(), db.toString(), out + "/seeds");
    for (int round = 0; round < rounds; round++) {
      int code = ToolRunner.run(conf, new Generator(), new String[] {db.toString(), segments.toString(), "-numFetchers", "1"});
      if (code == 1) break;  // nothing is due
      Path newest = null;
      for (var each : FileSystem.get(conf).listStatus(segments))
        if (newest == null || each.getPath().compareTo(newest) > 0) newest = each.getPath();
      run(conf, new Fetcher(), newest.toString(), "-threads", "10");
      run(conf, new ParseSegment(), newest.toString());
      run(conf, new CrawlDb(), db.toString(), newest.toString());
    }
    run(conf, new LinkDb(), out + "/linkdb", "-dir", segments.toString());
    run(conf, new DeduplicationJob(), db.toString());
    run(conf, new IndexingJob(), db.toString(), "-linkdb", out + "/linkdb", "-dir", segments.toString(), "-deleteGone");
    Configuration limited = new Configuration(conf);
    limited.setClass("map.sort.class", SortInOrder.class, IndexedSorter.class);
    ranks(limited, segments, out + "/with-limits");
    Configuration all = new Configuration(conf);
    all.setBoolean("link.ignore.limit.page", false);
    all.setBoolean("link.ignore.limit.domain", false);
    ranks(all, segments, out + "/without-limits");
    System.exit(0);
  }

  /** Writes the fields that Nutch itself gives a document: its id, signature and boost. */
  public static class Lines extends Configured implements IndexWriter {
    PrintWriter lines;
    public void open(Configuration conf, String name) {}
    public void open(IndexWriterParams given) throws IOException {
      lines = new PrintWriter(new FileWriter(given.get("file"), true));  // opened once more to commit
    }
    public void write(NutchDocument document) {
      lines.println(document.getFieldValue("id") + "\t" + document.getFieldValue("digest") + "\t" + document.getFieldValue("boost"));
    }
    public void update(NutchDocument document) { write(document); }
    public void delete(String id) {}
    public void commit() { lines.flush(); }
    public void close() { lines.close(); }
    public Map<String, Entry<String, Object>> describe() { return Map.of("file", Map.entry("file for lines", "lines")); }
  }

  static void ranks(Configuration conf, Path segments, String folder) throws Exception {
    String graph = folder + "/webgraphdb";
    run(conf, new WebGraph(), "-webgraphdb", graph, "-segmentDir", segments.toString());
    run(conf, new LinkRank(), "-webgraphdb", graph);
    run(conf, new NodeDumper(), "-webgraphdb", graph, "-scores", "-output", folder + "/ranks");
  }

  static void run(Configuration conf, Tool tool, String... args) throws Exception {
    int code = ToolRunner.run(conf, tool, args);
    if (code != 0) throw new IllegalStateException(tool.getClass() + " ended with " + code);
  }

  /**
   * Sorts what a mapper wrote so that values of one key stay in the order in which it wrote them.
   *
   * Hadoop's own sort leaves them in an order that depends on all other keys. Of the links to a domain, Nutch keeps the
   * one that comes first.
   */
  public static class SortInOrder implements IndexedSorter {
    public void sort(IndexedSortable records, int first, int end) {
      // Hadoop numbers the records backwards, so equal ones are turned round.
      for (int at = first + 1; at < end; at++)
        for (int each = at; each > first && records.compare(each - 1, each) >= 0; each--) records.swap(each - 1, each);
    }

    public void sort(IndexedSortable records, int first, int end, Progressable progress) { sort(records, first, end); }
  }

  static class Configured {
    Configuration conf;
    public void setConf(Configuration conf) { this.conf = conf; }
    public Configuration getConf() { return conf; }
  }

  /** Fetches every host from one port of this machine. */
  public static class LocalProtocol extends Configured implements Protocol {
    public BaseRobotRules getRobotRules(Text url, CrawlDatum datum, List<Content> robotsTxt) {
      return RobotRulesParser.EMPTY_RULES;
    }

    public ProtocolOutput getProtocolOutput(Text text, CrawlDatum datum) {
      try {
        URL url = new URL(text.toString());
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (Socket socket = new Socket("127.0.0.1", conf.getInt("same.site.port", 0))) {
          String head = "GET " + url.getFile() + " HTTP/1.0\r\nHost: " + url.getHost() + "\r\n\r\n";
          socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
          InputStream in = socket.getInputStream();
          in.transferTo(all);
        }
        String reply = all.toString(StandardCharsets.UTF_8);
        int end = reply.indexOf("\r\n\r\n");
        int code = Integer.parseInt(reply.substring(9, 12));
        Metadata headers = new Metadata();
        for (String line : reply.substring(0, end).split("\r\n")) {
          int colon = line.indexOf(": ");
          if (colon > 0) headers.add(line.substring(0, colon), line.substring(colon + 2));
        }
        byte[] body = reply.substring(end + 4).getBytes(StandardCharsets.UTF_8);
        Content content = new Content(url.toString(), url.toString(), body, headers.get("Content-Type"), headers, conf);
        ProtocolStatus status = code == 200 ? ProtocolStatus.STATUS_SUCCESS
            : code == 404 ? new ProtocolStatus(ProtocolStatus.NOTFOUND, url)
            : new ProtocolStatus(code == 301 ? ProtocolStatus.MOVED : ProtocolStatus.TEMP_MOVED, headers.get("Location"));
        return new ProtocolOutput(content, status);
      } catch (Exception error) {
        return new ProtocolOutput(null, new ProtocolStatus(error));
      }
    }
  }

  /** Reads the title, the text and the links of a simple page. As in Nutch, the text begins with the title. */
  public static class SimpleParser extends Configured implements Parser {
    static final Pattern LINK = Pattern.compile("<a href=\"([^\"]*)\"( rel=\"nofollow\")?>([^<]*)</a>");
    static final Pattern TITLE = Pattern.compile("<title>([^<]*)</title>");

    public ParseResult getParse(Content content) {
      String html = new String(content.getContent(), StandardCharsets.UTF_8);
      Matcher title = TITLE.matcher(html);
      String found = title.find() ? title.group(1) : "";
      String text = html.replaceAll("<[^>]*>", " ").replaceAll("\\s+", " ").trim();
      List<Outlink> links = new ArrayList<>();
      Matcher link = LINK.matcher(html);
      try {
        while (link.find())
          if (link.group(2) == null)
            links.add(new Outlink(new URL(new URL(content.getBaseUrl()), link.group(1)).toString(), link.group(3)));
      } catch (MalformedURLException error) {
        throw new IllegalStateException(error);
      }
      ParseData data = new ParseData(ParseStatus.STATUS_SUCCESS, found, links.toArray(new Outlink[0]), content.getMetadata());
      return ParseResult.createParseResult(content.getUrl(), new org.apache.nutch.parse.ParseImpl(text, data));
    }
  }

  /** Removes fragments. */
  public static class FragmentNormalizer extends Configured implements URLNormalizer {
    public String normalize(String url, String scope) {
      int at = url.indexOf('#');
      return at < 0 ? url : url.substring(0, at);
    }
  }

  /** OPIC by its published rule: a page gives every link the same share of its score. */
  public static class Opic extends AbstractScoringFilter {
    public void injectedScore(Text url, CrawlDatum datum) {}

    public void initialScore(Text url, CrawlDatum datum) { datum.setScore(0); }

    public float generatorSortValue(Text url, CrawlDatum datum, float value) { return datum.getScore() * value; }

    public void passScoreBeforeParsing(Text url, CrawlDatum datum, Content content) {
      content.getMetadata().set(Nutch.SCORE_KEY, Float.toString(datum.getScore()));
    }

    public void passScoreAfterParsing(Text url, Content content, Parse parse) {
      parse.getData().getContentMeta().set(Nutch.SCORE_KEY, content.getMetadata().get(Nutch.SCORE_KEY));
    }

    public CrawlDatum distributeScoreToOutlinks(Text url, ParseData data, Collection<Entry<Text, CrawlDatum>> targets,
        CrawlDatum adjust, int count) {
      String score = data.getContentMeta().get(Nutch.SCORE_KEY);
      if (score != null && !targets.isEmpty())
        for (Entry<Text, CrawlDatum> each : targets) each.getValue().setScore(Float.parseFloat(score) / targets.size());
      return adjust;
    }

    public void updateDbScore(Text url, CrawlDatum old, CrawlDatum datum, List<CrawlDatum> inlinked) {
      float sum = (old == null ? datum : old).getScore();
      for (CrawlDatum each : inlinked) sum += each.getScore();
      datum.setScore(sum);
    }

    public float indexerScore(Text url, NutchDocument document, CrawlDatum inDb, CrawlDatum fetched, Parse parse,
        Inlinks inlinks, float score) {
      return (float) Math.sqrt(inDb.getScore()) * score;
    }
  }
}
