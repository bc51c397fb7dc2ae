"""Sentences about seals in many languages, in characters of the encodings used there."""

from __future__ import annotations

CHINESE = "灰海豹沿着海岸游泳，捕鱼，然后在温暖的岩石上睡觉。这是一个很长的句子，谁也不会读完它。"
TAIWANESE = "灰海豹沿著海岸游泳，捕魚，然後在溫暖的岩石上睡覺。這是一個很長的句子，誰也不會讀完它。"
JAPANESE = "灰色アザラシは海岸に沿って泳ぎ、魚を捕まえてから温かい岩の上で眠ります。とても長い文です。"
KOREAN = "회색 물범은 해안을 따라 헤엄치며 물고기를 잡은 다음 따뜻한 바위에서 잠을 잡니다. 아주 긴 문장입니다."
RUSSIAN = "Серый тюлень плавает вдоль берега и ловит рыбу, а потом спит на тёплых камнях у моря."
UKRAINIAN = "Сірий тюлень плаває вздовж берега, ловить рибу, а потім спить на теплому камінні; це його їжа і ґрунт."
POLISH = "Foka szara pływa wzdłuż wybrzeża, łowi ryby, a potem śpi na ciepłych głazach. Zażółć gęślą jaźń."
CZECH = "Tuleň šedý plave podél pobřeží, loví ryby a pak spí na teplých kamenech. Příliš žluťoučký kůň."
GREEK = "Η γκρίζα φώκια κολυμπά κατά μήκος της ακτής, πιάνει ψάρια και μετά κοιμάται στους ζεστούς βράχους."
TURKISH = "Gri fok kıyı boyunca yüzer, balık yakalar ve sonra sıcak kayaların üzerinde uyur. Şişli'de İğne güç."
HEBREW = "כלב הים האפור שוחה לאורך החוף, תופס דגים ואז ישן על הסלעים החמים של הים."
ARABIC = "تسبح الفقمة الرمادية على طول الساحل وتصطاد الأسماك ثم تنام على الصخور الدافئة."
LITHUANIAN = "Pilkasis ruonis plaukioja palei krantą, gaudo žuvis, o paskui miega ant šiltų akmenų. Įžūlus ąžuolėlis."
VIETNAMESE = "Hai câu nói nay tôi viêt đê thư bang ma cu, ăn uông đây đu; âm ơ ư đ."
THAI = "แมวน้ำสีเทาว่ายน้ำไปตามชายฝั่ง จับปลา แล้วนอนบนโขดหินที่อบอุ่น"
FRENCH = (
    "Le phoque gris nage le long de la côte, attrape des poissons, puis dort sur les rochers. Où est le café fermé?"
)
GERMAN = "Die Kegelrobbe schwimmt längs der Küste, fängt Fische und schläft dann auf großen, wärmenden Felsblöcken."
ICELANDIC = "Útselurinn syndir meðfram ströndinni, veiðir fisk og sefur síðan á hlýjum klettum; það er þægilegt."
